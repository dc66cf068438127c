"""Descents are torch.optim's to the bit, arrive where least squares says, diverge past the limit; slices are real."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch.nn import functional as F

from engine.data import mnist
from engine.experiments.cost_and_descent import (
    ALL,
    IMAGES,
    LONGEST,
    NEAR,
    RULES,
    curvatures,
    digit_losses,
    least,
    loss_slice,
    surface,
    tiny_losses,
    walk,
)
from engine.models import catalogue
from engine.models.cost_and_descent import POINTS
from engine.models.digit_network import DigitNetwork

START = (2.0, 5.0)
OPTIMISERS = {
    "sgd": lambda parameters, rate: torch.optim.SGD(parameters, rate),
    "momentum": lambda parameters, rate: torch.optim.SGD(parameters, rate, momentum=0.9),
    "adam": lambda parameters, rate: torch.optim.Adam(parameters, rate),
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("rate", [0.1, 0.3])
def test_the_way_is_torch_optim_s_to_the_bit(rule, rate):
    x, y = torch.tensor(POINTS).T[..., None]
    weight, bias = torch.nn.Parameter(torch.tensor([[START[0]]])), torch.nn.Parameter(torch.tensor([START[1]]))
    optimiser = OPTIMISERS[rule]([weight, bias], rate)
    places = [(weight.item(), bias.item())]
    for _ in range(60):
        optimiser.zero_grad()
        (F.mse_loss(F.linear(x, weight, bias), y) / 2).backward()
        optimiser.step()
        places.append((weight.item(), bias.item()))
    assert walk(rule, rate, START).places[:61] == tuple(places)


def test_a_step_is_the_trace_s_update_and_its_loss_the_trace_s():
    rows = {"inputs": {"x": [[x] for x, _ in POINTS]}, "target": [y for _, y in POINTS]}
    run = catalogue()["cost_and_descent"].trace({**rows, "update": {"learning_rate": 0.1}})
    found = walk("sgd", 0.1, START)
    updated = (run["line.weight.updated"].item(), run["line.bias.updated"].item())
    assert found.places[1] == pytest.approx(updated, rel=1e-6)
    assert found.losses[0] == run.result["loss"]
    assert found.losses[1] == pytest.approx(run.result["after_update"]["loss"], rel=1e-6)


def test_least_squares_is_where_every_rule_arrives():
    w, b, loss = least()
    assert (w, b) == pytest.approx((43 / 28, -1))
    for rule in RULES:
        found = walk(rule, 0.3, START)
        assert found.losses[-1] < NEAR * loss and found.arrival is not None
        assert found.places[-1] == pytest.approx((w, b), abs=0.05)
        assert found.losses[found.arrival] <= NEAR * loss < found.losses[found.arrival - 1]


def test_past_twice_one_over_the_curvature_a_descent_diverges():
    along, low, high = curvatures()
    assert along == pytest.approx(sum(x * x for x, _ in POINTS) / len(POINTS)) and low < 1 < along < high
    assert walk("sgd", 0.98 * 2 / high, START).losses[-1] < 0.5
    assert walk("sgd", 1.02 * 2 / high, START).losses[-1] > 100
    inside, outside = (walk("sgd", part * 2 / along, (-1.0, -1.0), weight_only=True) for part in (0.98, 1.02))
    assert inside.losses[-1] < inside.losses[0] < outside.losses[-1]
    assert {place[1] for place in inside.places} == {-1}
    far = walk("sgd", 3.0, START)
    assert far.diverged and len(far.places) < LONGEST and all(map(math.isfinite, far.losses))


def test_on_the_parabola_each_step_leaves_the_same_share_of_the_distance():
    rate, (along, _, _), w = 0.1, curvatures(), least()[0]
    places = [place[0] - w for place in walk("sgd", rate, (-1.0, -1.0), weight_only=True).places[:6]]
    for before, after in itertools.pairwise(places):
        assert after == pytest.approx((1 - rate * along) * before, rel=1e-5)


def test_few_points_a_step_see_every_point_once_in_a_round():
    few = [walk("sgd", 0.1, START, batch, order=3) for batch in (1, 2, 4)]
    assert [one.batch for one in few] == [1, 2, 4]
    assert len({one.places for one in (*few, walk("sgd", 0.1, START, 1, order=4))}) == 4
    tiny = 1e-4  # so short that all gradients of a round are those of its start
    whole = walk("sgd", tiny, START).places[1]
    for batch in (1, 2, 4):
        round_ = walk("sgd", tiny * batch / ALL, START, batch, order=5).places[ALL // batch]
        assert round_ == pytest.approx(whole, abs=1e-6)


def test_glances_come_near_for_fewer_gradients_but_do_not_rest():
    careful, drunk = walk("sgd", 0.1, START), walk("sgd", 0.1, START, 1, order=1)
    assert careful.arrival is not None and drunk.arrival is not None
    assert 5 * drunk.arrival * 1 < careful.arrival * ALL
    assert max(drunk.losses[-50:]) > 1.2 * max(careful.losses[-50:])


def test_the_surface_is_the_loss_at_each_place():
    w, b, loss = least()
    (row,) = surface([w], [b])
    assert row[0] == pytest.approx(loss)
    assert surface([START[0]], [START[1]])[0][0] == pytest.approx(walk("sgd", 0.1, START).losses[0], rel=1e-6)


def test_one_step_on_all_thirteen_parameters_overshoots():
    facts = {0.1: 7.9003125, 0.05: 0.98876953125, 0.02: 0.0441045, 0.01: 0.39760903125}
    assert tiny_losses((*facts, 0.0)) == pytest.approx((*facts.values(), 1.125), rel=1e-5)
    run = catalogue()["tiny_network"].trace({"update": {"learning_rate": 0.05}})
    assert tiny_losses((0.05,))[0] == pytest.approx(run.result["after_update"]["loss"], rel=1e-6)


def test_alone_each_of_the_thirteen_helps_or_does_nothing():
    model = catalogue()["tiny_network"]
    names = {name: tuple(cells.shape) for name, cells in model.module().named_parameters()}
    places = [
        (name, index)
        for name, shape in names.items()
        for index in torch.cartesian_prod(*map(torch.arange, shape)).view(-1, len(shape)).tolist()
    ]
    after = []
    for name, index in places:
        frozen = [{"parameter": one, "index": list(at)} for one, at in places if (one, at) != (name, index)]
        run = model.trace({"update": {"learning_rate": 0.1, "frozen": frozen}})
        after.append(run.result["after_update"]["loss"])
    assert len(after) == 13 and max(after) <= 1.125 and min(after) == pytest.approx(0, abs=0.02)


def test_a_step_in_13002_dimensions_helps_until_it_is_too_long():
    found = digit_losses((0.0, 1.0, 30.0))
    assert found[1] < found[0] < found[2]
    images = mnist.images("train").first(IMAGES)
    value = F.nll_loss(DigitNetwork()(images.numbers()), images.labels)
    assert found[0] == pytest.approx(value.item(), rel=1e-6)


@pytest.fixture(scope="module")
def cut():
    return loss_slice(1)


def test_the_middle_of_the_slice_is_the_shipped_network_s_loss(cut):
    images = mnist.images("train").first(IMAGES)
    value = F.nll_loss(DigitNetwork(weights="trained")(images.numbers()), images.labels)
    assert cut.losses[10][10] == pytest.approx(value.item(), rel=1e-4) and cut.along[10] == 0
    assert min(map(min, cut.losses)) == cut.losses[10][10] < max(map(max, cut.losses)) / 100


def test_the_descent_leaves_the_plane_of_the_slice(cut):
    assert cut.places[0] == pytest.approx((0.9, 0.9), abs=1e-3)
    assert cut.path[-1] < cut.path[0] / 10
    assert cut.outside > 0.95 and math.dist(cut.places[0], cut.places[-1]) < 0.1


def test_another_seed_cuts_another_slice():
    assert loss_slice(2, 3).losses != loss_slice(3, 3).losses
    assert loss_slice(2, 3).losses[1][1] == pytest.approx(loss_slice(3, 3).losses[1][1], rel=1e-5)
