"""Optimal values over features of states, V*_{ψ,c} (the paper's section 3.3), and how much of them contexts share."""
