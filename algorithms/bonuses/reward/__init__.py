"""From a bonus expression to the reward a learner sees."""
