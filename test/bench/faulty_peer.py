"""A peer that faults on the case 'faulty', as a library does whose kernel reads outside its memory: then nothing works in its process."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "peers"))
import common


class Faulty:
    name, method, version = "faulty", "wall", "1"

    def __init__(self, args):
        self.dead = False

    def supports(self, case):
        return None

    def prepare(self, case):
        def run(k):
            self.dead |= case.name == "faulty"
            if self.dead:
                raise RuntimeError("cudaErrorIllegalAddress: an illegal memory access was encountered")
            return np.sum(self.inputs[0], keepdims=True)

        self.inputs = [np.ones(case.shape[::-1], np.float32)]
        yield "sum", run

    def check_inputs(self):
        return self.inputs

    def time(self, run, case):
        return [1.0, 2.0, 3.0]

    def to_numpy(self, x):
        return x

    def release(self):
        if self.dead:
            raise RuntimeError("cudaErrorIllegalAddress")


common.main(Faulty)
