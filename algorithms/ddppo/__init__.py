"""DD-PPO with intrinsic rewards (Wijmans et al., 2020): every worker samples and learns."""
