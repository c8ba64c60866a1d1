"""Many runs as one experiment: its folder, how it is run on Ray Tune, and how it goes on after a failure."""
