"""The bonuses that the paper compares, by name. A preset stands for its expression, in expressions too.

Combinations follow the paper's appendix "Algorithm Details for MiniHack Experiments", where the global part is NovelD
without its episodic indicator and AGAC without its episodic count (the defaults of `noveld` and `agac`), because E3B is
the episodic part. `x` is the product, `plus` the sum. Single bonuses end in `_alone`, so that no preset hides a bonus
of the same name.
"""

from __future__ import annotations

from dataclasses import dataclass

BETA = 100
"""Weight β of the global bonus in sums. The paper tuned it over {1, 10, ..., 100000} and reports results for the best
value, but not the value; 100 is ours, the middle of that range rounded down to a power of ten."""

_DETAILS = "paper, appendix Algorithm Details"
_BETA = f"{_DETAILS}; β = {BETA} is ours (tuned over 1..100000, best value not reported)"

_MONTEZUMA = "paper, appendix Experiment Details for Montezuma's Revenge"
_RND_MONTEZUMA = "rnd(networks=atari, keep=0.0625)"
_E3B_MONTEZUMA = "e3b(encoder=atari, ridge=1)"


@dataclass(frozen=True)
class Preset:
    """A name, its expression, and the source of that expression."""

    name: str
    expression: str
    source: str


PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in [
        Preset("e3b_x_rnd", "e3b * rnd", f"{_DETAILS}; ridge 0.1: paper, table E3B"),
        Preset("e3b_x_noveld", "e3b * noveld", f"{_DETAILS}; c = 0.1: paper, table NovelD"),
        Preset("e3b_x_agac", "e3b * agac", f"{_DETAILS}; learning rate 3e-5, loss term 4e-5: paper, table AGAC"),
        Preset("e3b_plus_rnd", f"e3b + {BETA} * rnd", _BETA),
        Preset("e3b_plus_noveld", f"e3b + {BETA} * noveld", _BETA),
        Preset("e3b_plus_agac", f"e3b + {BETA} * agac", _BETA),
        Preset("ngu_x_noveld", "ngu * noveld", "paper, appendix Results with NGU episodic bonus"),
        Preset("e3b_alone", "e3b", "paper, section 4, the baseline; ridge 0.1: table E3B"),
        Preset(
            "rnd_alone",
            "rnd(networks=full, optimiser=rmsprop)",
            "paper, equation RND; two full encoders: paper's text and released code; RMSProp: released code",
        ),
        Preset(
            "noveld_alone",
            "noveld(episodic=true)",
            "paper, equation NovelD; c = 0.1: table NovelD; small heads on one frozen encoder: released code",
        ),
        Preset(
            "agac_alone",
            "agac(episodic_coefficient=0.0125)",
            "paper, equation AGAC; β = 0.0125: AGAC's own code (the paper gives none for AGAC alone)",
        ),
        Preset("ride_alone", "ride", "paper, equation RIDE"),
        Preset("icm_alone", "icm", "paper, section 3.5 (Habitat); forward loss 1.0: table ICM"),
        Preset("rnd_montezuma", _RND_MONTEZUMA, f"{_MONTEZUMA}; UpdateProportion 0.25 of each of 4 minibatches"),
        Preset("e3b_montezuma", _E3B_MONTEZUMA, f"{_MONTEZUMA}; fixed random encoder, ridge 1.0"),
        Preset("e3b_x_rnd_montezuma", f"{_E3B_MONTEZUMA} * {_RND_MONTEZUMA}", f"{_MONTEZUMA}; product: section 3.5"),
        Preset("no_bonus", "none", "paper: IMPALA or PPO without a bonus"),
    ]
}
