"""Matrix programs: written as in NumPy, and kept fresh as their matrices change.

def ols(X, y):
    return np.linalg.inv(X.T @ X) @ X.T @ y

program = matrix.program(ols, X=("n", 3), y=("n", 1))
state = program.start(X=X, y=y)
state.update(X=RowChange(changed={3: row}))
state["ols"]
"""

from viewlet.matrix.algebra.numpy_functions import diagonal, leading
from viewlet.matrix.algebra.trace import iterate
from viewlet.matrix.compile.compiled import Expected
from viewlet.matrix.compile.machine import Machine
from viewlet.matrix.delta.changes import Dense, Factored
from viewlet.matrix.errors import ShapeError, SingularMatrix, UntraceableError
from viewlet.matrix.program import MatrixProgram, program
from viewlet.matrix.refresh.maintained_program import MaintainedProgram, Record
from viewlet.matrix.refresh.updates import Border, ColumnChange, Entries, LowRank, Replace, RowChange
from viewlet.matrix.tables.sources import Long, Wide

__all__ = [
    "Border",
    "ColumnChange",
    "Dense",
    "Entries",
    "Expected",
    "Factored",
    "Long",
    "LowRank",
    "Machine",
    "MaintainedProgram",
    "MatrixProgram",
    "Record",
    "Replace",
    "RowChange",
    "ShapeError",
    "SingularMatrix",
    "UntraceableError",
    "Wide",
    "diagonal",
    "iterate",
    "leading",
    "program",
]
