"""The words and symbols of the report, each with what it means."""

WORDS = {
    "hidden layer": "Tanh units with random weights that never change. H has a row of their "
    "outputs for each sample. Only the output weights W are learned.",
    "OPIUM": "The online pseudoinverse update method: a ridge regression that learns one sample at "
    "a time. After each it is the exact solution for all samples so far. In greville: `Opium`.",
    "OPIUM light": "A fast approximation of OPIUM: θ is replaced by g times the identity matrix. "
    "In greville: `OpiumLight`.",
    "dynamic OPIUM": "OPIUM that forgets old samples. In greville: `DynamicOpium`.",
    "Greville's method": "The pseudoinverse, updated one sample at a time, without a ridge. In "
    "greville: `Greville`.",
    "ε": "The size of the ridge: W minimises the squared errors plus ε²|W|².",
    "θ": "The matrix (ε²I + HᵀH)⁻¹, which the recursion of the paper updates.",
    "g": "The gain of OPIUM light: the number that stands for θ.",
    "α": "How fast dynamic OPIUM forgets: each new sample multiplies the weight of older ones by "
    "2 - α. With α = 1.003 about the last 1/(α - 1) = 330 samples count.",
    "as printed": "The equations of the paper, computed as they stand in floating point.",
    "on a Cholesky factor": "The same rule, but the triangular R with RᵀR = θ⁻¹ is updated instead "
    "of θ, so that rounding errors do not build up.",
    "floor": "A small ridge that `DynamicOpium` adds again and again, because forgetting shrinks "
    "it. It is on by default; `floor=None` is the rule of the paper.",
    "reading": "One way to understand the paper where its description is ambiguous.",
    "RMS error": "The root of the mean squared error.",
    "persistence": "The prediction that the next sample equals the last one.",
}
