"""What of a state is counted. Importing `bonuslab.algorithms.bonuses` registers every feature here."""
