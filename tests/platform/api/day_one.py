"""What a researcher writes on the first day, in small: `python day_one.py serial` or `python day_one.py ray`."""

import sys

import bonuslab as bl

SMALL = {"num_envs_per_env_runner": 4, "rollout_fragment_length": 8, "num_minibatches": 2, "num_epochs": 1}
SERIAL = sys.argv[1:] == ["serial"]


@bl.bonus("speed", scope="episodic")
def speed(step):
    """How far the agent moved."""
    return (step.next_obs["blstats"] - step.obs["blstats"])[..., :2].norm(dim=-1)


if __name__ == "__main__":
    bonuses = (None, bl.E3B() * bl.RND(), "e3b * speed") if SERIAL else ("e3b * speed",)
    settings = {"env": {"max_steps": 8}, "evaluate_every_steps": 0, "progress": False, **SMALL}
    runs = [bl.train("MultiRoom-N2-S4", bonus=bonus, steps=96, serial=SERIAL, **settings) for bonus in bonuses]
    print(runs[-1].evaluate(episodes=2))
    runs[-1].video("episode.mp4")
    bl.plot(runs, "win_rate").savefig("curves.png")
