"""User-defined bonuses, features, networks and environments, from a script, a notebook or a plugin file."""

from bonuslab.algorithms.bonuses.features.state_features import state_feature as feature
from bonuslab.algorithms.extensions.bonuses import bonus
from bonuslab.algorithms.extensions.networks import network
from bonuslab.algorithms.extensions.plugins import PluginRef, copy_plugin, load_plugin, plugin_ref
from bonuslab.algorithms.extensions.shipping import capture, digest, install
from bonuslab.algorithms.extensions.step import Step

__all__ = [
    "PluginRef",
    "Step",
    "bonus",
    "capture",
    "copy_plugin",
    "digest",
    "feature",
    "install",
    "load_plugin",
    "network",
    "plugin_ref",
]
