"""Every model that is found keeps the contract; a request that does not fit is refused with expected and got."""

from __future__ import annotations

import itertools

import orjson
import pytest
import torch

import engine
from engine.models import catalogue
from engine.update import RULES

MODELS = sorted(catalogue())


@pytest.fixture(params=MODELS)
def model(request):
    return catalogue()[request.param]


def test_run_is_deterministic(model):
    one, two = model.trace({}), model.trace({})
    assert engine.compare(one, two).same
    assert one.id == two.id


def test_every_step_has_a_name_of_its_model_and_says_more_than_it_with_every_choice_of_options(model):
    choices = [[(option.name, value) for value in option.values] for option in model.options]
    for chosen in itertools.product(*choices):
        trace = model.trace({"options": dict(chosen)})
        assert [name for name in trace.tensors if any(part[:1] == ":" for part in name.split("."))] == [], chosen
        sides = [step.symbol.partition(" = ") for step in trace.steps]
        assert [left for left, _, right in sides if left == right] == [], chosen


def test_names_are_unique_and_operands_precede_their_use(model):
    trace = model.trace({})
    known = {name for name, record in trace.tensors.items() if trace.maker(name) is None}
    for step in trace.steps:
        assert {operand.tensor for operand in step.inputs} <= known, step.name
        assert not set(step.outputs) & known
        known |= set(step.outputs)
    assert len({step.name for step in trace.steps}) == len(trace.steps)


def test_axes_match_ranks_and_gradients_their_tensors(model):
    for record in model.trace({}).tensors.values():
        assert tuple(axis.size for axis in record.axes) == record.shape


@pytest.mark.parametrize("rule", RULES)
def test_every_step_recomputes(model, rule):
    trace = model.trace({"update": {"rule": rule, "learning_rate": 0.1}})
    for step in trace.steps:
        if step.phase == "backward":
            continue
        for name in step.outputs:
            for index in itertools.islice(itertools.product(*map(range, trace.record(name).shape)), 50):
                assert engine.verify(trace, name, index).ok


def test_recording_leaves_outputs_bit_identical(model):
    module = model.module()
    inputs = {field.name: field.read(field.name, list(field.default)) for field in model.inputs}
    with torch.no_grad():
        expected = module(**inputs)
    assert torch.equal(model.trace({})["prediction"], expected)


def test_stream_equals_batch(model):
    told = []
    trace = model.trace({}, on_step=lambda step, records: told.append(step))
    assert tuple(told) == trace.steps == model.trace({}).steps


def test_manifest_survives_json(model):
    data = engine.manifest(model.trace({}))
    assert orjson.loads(orjson.dumps(data)) == data


def test_one_meaning_has_one_id():
    model = catalogue()["tiny_network"]
    edits = [
        {"parameter": "hidden.bias", "index": [0], "value": 1},
        {"parameter": "hidden.bias", "index": [1], "value": 2},
    ]
    assert model.trace({"edits": edits}).id == model.trace({"edits": edits[::-1]}).id
    assert model.trace({}).id == model.trace({"inputs": {"x": [2, -1]}, "target": 4}).id
    assert model.trace({}).id != model.trace({"target": 5}).id


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"inputs": {"x": [1, 2, 3]}}, "inputs.x must have 2 numbers; got 3"),
        ({"inputs": {"x": [[1, 2], [3]]}}, r"inputs.x\[1\] must have 2 numbers; got 1"),
        ({"inputs": {"x": "1,2"}}, "inputs.x must be a list of 2 numbers"),
        ({"inputs": {"x": [1, "2"]}}, r"inputs.x\[1\] must be a number; got '2'"),
        ({"inputs": {"x": [1, float("nan")]}}, r"inputs.x\[1\] must be a finite number .*; got nan"),
        ({"inputs": {"x": [1, 1e300]}}, r"inputs.x\[1\] must be a finite number from -1e\+06 to 1e\+06"),
        ({"inputs": {"x": [[1, 2]] * 257}}, "inputs.x must have at most 256 rows; got 257"),
        ({"inputs": {"y": [1]}}, "inputs.y must be one of x; got 'y'"),
        ({"target": [1, 2]}, "target must be 1 number"),
        ({"inputs": {"x": [[1, 2]] * 3}, "target": [1, 2]}, "target must be 1 number or 3"),
        ({"options": {"activation": "relU"}}, "options.activation must be one of relu, none; got 'relU'"),
        ({"options": {"depth": 3}}, "options.depth must be one of activation"),
        (
            {"edits": [{"parameter": "w", "index": [0], "value": 1}]},
            r"edits\[0\].parameter must be one of hidden.weight",
        ),
        (
            {"edits": [{"parameter": "hidden.bias", "index": [3], "value": 1}]},
            r"edits\[0\].index\[0\] must be from 0 to 2",
        ),
        ({"edits": [{"parameter": "hidden.bias", "index": [0.5], "value": 1}]}, "must be a whole number or null"),
        ({"interventions": [{"at": "hidden.activation", "index": [0]}]}, "must have exactly one of set, scale, add"),
        ({"update": {"learning_rate": 0.1, "rule": "adam"}}, "update.rule must be sgd or adamw; got 'adam'"),
        ({"update": {"learning_rate": 0.1, "epsilon": 1e-8}}, "update.epsilon must be left out: it belongs to adamw"),
        ({"update": {"rule": "adamw"}}, "update.learning_rate must be a number; got None"),
        ({"update": {"rule": "adamw", "learning_rate": -1}}, "update.learning_rate must be 0 or more; got -1"),
        (
            {"update": {"rule": "adamw", "learning_rate": 0.1, "betas": 0.9}},
            "update.betas must be two numbers; got 0.9",
        ),
        (
            {"update": {"rule": "adamw", "learning_rate": 0.1, "betas": [0.9, 1]}},
            r"update.betas\[1\] must be from 0 to below 1; got 1",
        ),
        (
            {"update": {"rule": "adamw", "learning_rate": 0.1, "weight_decay": "0"}},
            "update.weight_decay must be a number; got '0'",
        ),
        (
            {"update": {"learning_rate": 0.1, "frozen": [{"parameter": "w"}]}},
            r"update.frozen\[0\].parameter must be one",
        ),
        ({"mode": "fast"}, "mode must be explain or exact; got 'fast'"),
        ({"nonsense": 1}, "nonsense must be one of inputs, target"),
    ],
)
def test_request_that_does_not_fit_says_expected_and_got(request_, message):
    with pytest.raises(engine.InputError, match=message):
        catalogue()["tiny_network"].trace(request_)


def test_a_loss_may_depend_on_the_option_of_that_name():
    model = catalogue()["digit_network"]
    assert model.loss_for() is model.loss["cross_entropy"]
    assert model.loss_for({"loss": "squared_error"}) is model.loss["squared_error"]
    with pytest.raises(engine.InputError, match=r"options.loss must be one of .*; got 'hinge'"):
        model.loss_for({"loss": "hinge"})
    tiny = catalogue()["tiny_network"]
    assert tiny.loss_for({"activation": "none"}) is tiny.loss
