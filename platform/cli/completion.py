"""`bonuslab --completion`: a script that completes commands, options and the names of all environments."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from importlib.metadata import EntryPoint

_SCRIPT = """\
_bonuslab() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" words="{commands}"
    if [ "$COMP_CWORD" -gt 1 ]; then
        case "${{COMP_WORDS[1]}}" in
{cases}
        esac
    fi
    COMPREPLY=( $(compgen -W "$words" -- "$word") )
}}
[ -n "$ZSH_VERSION" ] && autoload -U +X bashcompinit && bashcompinit
complete -o default -F _bonuslab bonuslab
"""


def script(commands: Mapping[str, EntryPoint]) -> str:
    """For bash and zsh: `eval "$(bonuslab --completion)"`."""
    from bonuslab.envs.listing import all_names

    environments, cases = " ".join(all_names()), []
    for name, entry in sorted(commands.items()):
        try:
            parser = argparse.ArgumentParser()
            entry.load()().add_arguments(parser)
        except ModuleNotFoundError:  # a command whose packages are not installed
            continue
        options = [option for action in parser._actions for option in action.option_strings if option.startswith("--")]
        takes_task = any(action.dest in ("task", "tasks") for action in parser._actions)
        cases.append(f'            {name}) words="{" ".join(options)}{f" {environments}" if takes_task else ""}" ;;')
    return _SCRIPT.format(commands=" ".join(sorted(commands)), cases="\n".join(cases))
