"""A results folder of two made-up runs."""

from mpu_bench.experiment.environment import describe
from mpu_bench.results.store import Store
from records import record, records

JUDGING = {
    "published": ["sbp-runtime"],
    "claims": [
        {"claim": "</script><b>SBP is cheap",
         "statement": {"kind": "lower", "quantity": "train_seconds", "each": {"dataset": "adult"},
                       "of": {"solver": "sbp"}, "than": [{"solver": "libsvm"}]}},
        {"claim": "SBP errs less",
         "statement": {"kind": "lower", "quantity": "test_error", "each": {"dataset": "adult"},
                       "of": {"solver": "sbp"}, "than": [{"solver": "libsvm"}]}},
    ],
}  # fmt: skip


def results(folder, name="made-up", error=0.15, disturbed="", done=2, hosts=(), pairs=None):
    """Make a results folder; ``disturbed`` says why the first of its runs was, ``done`` how many have a result.

    ``hosts`` are the computers of a cluster that made them, ``pairs`` the sizes of pairs of classes by dataset.
    """
    with Store(folder / name, create=True) as store:
        planned = [{
            "experiment": name, "dataset": "adult", "n": 100, "solver": solver, "parameters": "{}",
            "kernel": "linear", "seed": 0, "run_id": f"{name} {solver}",
        } for solver in ("sbp", "libsvm", "sdca")]  # fmt: skip
        facts = {"name": name, "config": "configs/made-up.yaml", "judging": JUDGING} | (
            {"pairs": pairs} if pairs else {}
        )
        store.save_plan(records(planned), facts | {"description": "Made up & <b>odd</b>"})
        for place, each in enumerate(planned[:done]):
            points = records({
                "presented": k, "passes": k / 100, "train_seconds": k, "kernel_evaluations": 100 * k,
                "test_error": 1 / k, "support_vectors": k,
            } for k in (10, 100, 1000))  # fmt: skip
            result = {"status": "done", "test_error": error + place / 100, "train_seconds": 1.0 + place}
            result |= {"threads": 1, "disturbed": "" if place else disturbed}
            machine = describe(1)
            if hosts:
                machine |= {"id": hosts[place], "host": hosts[place]}
            store.save(record(each | result), points, machine)
    return folder / name
