"""DD-PPO (Wijmans et al., 2020) with intrinsic rewards: every worker acts and learns."""
