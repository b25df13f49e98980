"""Checks of values that are valid alone and may not fit the rest of the config."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path

from mpu_bench import resources, solvers
from mpu_bench.config.choices import DatasetChoice, SolverChoice
from mpu_bench.config.drawings import check_drawings
from mpu_bench.config.parameters import names_of_parameters
from mpu_bench.config.rules import AXES, Where, check_judging
from mpu_bench.config.schema import File
from mpu_bench.config.sentences import sentences
from mpu_bench.document import Document, Node
from mpu_bench.files import is_file

_SURE_ENDS = {"passes", "seconds"}  # of the rules of stop: those that every run reaches


def check_together(
    content: File,
    document: Document,
    datasets: Sequence[DatasetChoice],
    choices: Sequence[SolverChoice],
    labels: Collection[str],
) -> None:
    """Reject what does not go together.

    Parameters
    ----------
    content : File
    document : Document
        The document that it was read from.
    datasets : sequence of DatasetChoice
    choices : sequence of SolverChoice
        The solvers, each with one value for each parameter.
    labels : collection of str
        Of all datasets, in any of its profiles.

    Raises
    ------
    ConfigError
    """
    entries = document["solvers"]
    _check_classes(datasets, choices, entries)
    if content.stop.seconds_of is not None:
        _check_seconds_of(content.stop.seconds_of.solver, datasets, choices, document["stop"]["seconds_of"])
    variants = [variant for choice in choices for variant in choice.variants]
    if content.budget is not None and {own.get("vectors") for _, own in variants}.isdisjoint(content.budget.vectors):
        raise document["budget"].error("no solver of this config takes its vectors from here; remove the key")
    if content.stop.suboptimality is not None:
        _check_suboptimality(content, choices, document["stop"]["suboptimality"])
    if content.stop.gap is not None and not any(  # a solver without an objective certifies none; a user's own may
        solvers.plugin_of(name) is not None or solvers.load(name).objective_of(own) for name, own in variants
    ):
        raise document["stop"]["gap"].error("no solver of this config has a gap; remove the key")
    _check_ends(content, choices, entries)
    check_judging(content, document.root, labels, solvers.known())
    if all(solvers.is_described(choice.name) for choice in choices):
        _check_claimed(document["claims"], {name for _, own in variants for name in own})
    _check_explained(content, document["explained"])
    check_drawings(content.figures, document["figures"], labels)


def _check_claimed(claims: Node, parameters: Collection[str]) -> None:
    """Reject a name in a claim that is no parameter of a solver: it would select no run, or be of no effect."""
    known = {*Where.model_fields, *parameters}
    for statement in [claim["statement"] for claim in claims.entries()]:
        sides = [statement["of"], statement["over"], *statement["than"].entries(), *statement["each"].entries()]
        for named in [*statement["each"].entries(), *(side["parameters"] for side in sides)]:
            for name in named.value or ():
                if name not in known and name not in _parameters_of_all():
                    raise named[name].unknown("parameter", name, known | _parameters_of_all())
        if statement["kind"].value == "bound":
            for factor in statement["against"].entries():
                if isinstance(factor.value, str) and factor.value not in {*AXES, *parameters}:
                    factor.check_names("quantity or parameter", {*AXES, *parameters, *_parameters_of_all()})


@cache
def _parameters_of_all() -> frozenset[str]:
    """Return the names of the parameters of all our solvers, for which each of them is imported."""
    return frozenset(itertools.chain.from_iterable(map(names_of_parameters, solvers.OWN)))


def _check_explained(content: File, node: Node) -> None:
    """Reject explanations of a sentence that neither paper nor config has, and by a config that does not exist."""
    configs, folder = resources.config_names(), Path(node.document.source).parent
    claimed = {claim.claim for claim in content.claims} | {sentence.name for sentence in sentences(content.paper or "")}
    for explained, below in zip(content.explained, node.entries(), strict=True):
        below["sentence"].check_names("sentence", claimed)
        if isinstance(explained.evidence, str) and not is_file(folder / explained.evidence):
            below["evidence"].check_names("config", configs)


def _check_suboptimality(content: File, choices: Sequence[SolverChoice], node: Node) -> None:
    """Reject a stop at a suboptimality that cannot be known."""
    if not content.optimum:
        raise node.error("needs the optimum; set optimum: true")
    if any(choice.tuning is not None for choice in choices):
        raise node.error("the optimum of what is tuned is not known before; use stop.gap")
    if not any(
        solvers.load(choice.name).optimum_solver(choice.parameters, choice.kernel.is_linear) for choice in choices
    ):
        raise node.error("no solver of this config has an objective whose optimum is known; remove the key")


def _check_seconds_of(
    name: str, datasets: Sequence[DatasetChoice], choices: Sequence[SolverChoice], node: Node
) -> None:
    """Require exactly one run whose seconds are meant by ``stop: {seconds_of: {solver: name}}``."""
    for label in dict.fromkeys(dataset.label for dataset in datasets):
        there = [choice for choice in choices if choice.only_for in (None, label)]
        meant = Counter(str(choice.kernel) for choice in there if choice.name == name)
        for kernel in sorted({str(choice.kernel) for choice in there if choice.name != name}):
            if meant[kernel] != 1:
                raise node.error(
                    f"solver '{name}' must stand in this config once, with one value for each parameter, for {label} "
                    f"and the kernel {kernel}; there are {meant[kernel]}"
                )


def _check_ends(content: File, choices: Sequence[SolverChoice], node: Node) -> None:
    """Reject runs that nothing ends for sure: neither a rule of the solver's own, nor one of the config, nor a limit.

    Gaps, suboptimality and kernel evaluations are no such rules: a run need not reach them.
    """
    rules = {name: limit for name, limit in content.stop.model_dump().items() if limit is not None}
    if content.limits.seconds is not None or rules.keys() & _SURE_ENDS:
        return
    named = content.stop.seconds_of and content.stop.seconds_of.solver
    endless = [choice.name for choice in choices if named in (None, choice.name)]
    endless += [choice.tuning.solver for choice in choices if choice.tuning is not None]  # trials have no such seconds
    rules_text = ", ".join(f"{name}: {rules[name]:g}" for name in rules if name != "seconds_of")
    why = f" for sure (it may never reach stop: {{{rules_text}}})" if rules_text else ""
    for solver in map(solvers.load, endless):
        if not solver.ends and solver.sliceable:
            raise node.error(
                f"nothing ends a run of solver '{solver.name}'{why}: say when, such as "
                f"stop: {{{', '.join(filter(None, [rules_text, 'passes: 10']))}}}; or, if it "
                "returns Status.DONE whatever the data are, write ends = True into its class"
            )


def _check_classes(datasets: Sequence[DatasetChoice], choices: Sequence[SolverChoice], node: Node) -> None:
    """Reject solvers of two classes on datasets of more, and weights of classes that a dataset does not have."""
    for dataset, choice in itertools.product(datasets, choices):
        if choice.only_for not in (None, dataset.label):
            continue
        for name, parameters in choice.variants:
            weights = parameters.get("class_weight")
            for label in weights if isinstance(weights, Mapping) else ():
                if label not in dataset.classes:
                    raise node.unknown(f"class of '{dataset.label}' (class_weight)", label, dataset.classes)
            if len(dataset.classes) > 2 and "score_threshold" in parameters:
                raise node.error(
                    f"score_threshold: '{dataset.label}' has {len(dataset.classes)} classes; it is for two"
                )
            if len(dataset.classes) > 2 and solvers.load(name).classes == "two" and "multiclass" not in parameters:
                raise node.error(
                    f"solver '{name}' separates two classes and '{dataset.label}' has {len(dataset.classes)}; name the "
                    f"positive ones: {dataset.name}: {{positive: [{dataset.classes[0]}]}}, or separate them two at a "
                    f"time: {name}: {{multiclass: one-against-one}}"
                )
