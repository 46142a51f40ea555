"""ringcraft: ring attention (context parallelism), exact, and a harness that finds the mistake in yours.

>>> import numpy, ringcraft
>>> q, k, v = numpy.random.default_rng(0).standard_normal((3, 1, 4, 64, 16), dtype="float32")
>>> out = ringcraft.attention(q, k, v, causal=True)
>>> run = ringcraft.attend(q, k, v, ranks=4, layout="zigzag", causal=True)
>>> bool(abs(run.out - out).max() < 1e-6)
True
"""
from ringcraft._arrays import mask_of
from ringcraft._attention import (Costs, Run, attend, attention, attention_backward, gather, oracle, positions,
                                  scatter)
from ringcraft._core import (Case, Error, Machine, Mask, Problem, Recorded, case_table, layouts, machines, methods,
                             processor)
from ringcraft._simulation import Simulation, simulate
from ringcraft._verdicts import Cause, Verdict, Verification
from ringcraft._verify import verify

__version__ = "0.1.0"
__all__ = ["Case", "Cause", "Costs", "Error", "Machine", "Mask", "Problem", "Recorded", "Run", "Simulation", "Verdict",
           "Verification", "attend", "attention", "attention_backward", "case_table", "gather", "layouts", "machines",
           "mask_of", "methods", "oracle", "positions", "processor", "scatter", "simulate", "verify"]
