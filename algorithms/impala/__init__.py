"""IMPALA with intrinsic rewards from one shared bonus."""
