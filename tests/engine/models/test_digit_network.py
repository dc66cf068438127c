"""The network that reads digits: its numbers counted, against plain PyTorch, gradients, weights, what is refused."""

from __future__ import annotations

import itertools
import json
import math
import random

import pytest
import torch
from safetensors import safe_open
from torch import nn
from torch.nn import functional as F

import engine
from engine.data import mnist
from engine.models import catalogue
from engine.models.digit_images import image
from engine.models.digit_network import ACTIVATIONS, LOSSES, WEIGHTS, DigitNetwork, layers, start, trained

MODEL = catalogue()["digit_network"]
KINDS = list(itertools.product(ACTIVATIONS, LOSSES))


def run(activation: str = "relu", loss: str = "cross_entropy", weights: str = "trained", **request) -> engine.Trace:
    return MODEL.trace({"options": {"activation": activation, "loss": loss, "weights": weights}, **request})


def plain(activation: str, loss: str, weights: str = "trained") -> nn.Sequential:
    """The same network of PyTorch's own modules, up to the ten outputs' preactivations."""
    between = nn.ReLU if activation == "relu" else nn.Sigmoid
    made = nn.Sequential(nn.Linear(784, 16), between(), nn.Linear(16, 16), between(), nn.Linear(16, 10))
    own = MODEL.module({"activation": activation, "loss": loss, "weights": weights}).state_dict().values()
    made.load_state_dict(dict(zip(made.state_dict(), own, strict=True)))
    return made


def test_parameters_are_13002_counted_by_layer(facts):
    counts = {name: fan_in * fan_out + fan_out for name, fan_in, fan_out in layers()}
    assert counts == {"hidden1": 12_560, "hidden2": 272, "output": 170}
    assert list(counts.values()) == list(facts["digit_network"]["count"].values())
    assert sum(counts.values()) == facts["digit_network"]["parameter_count"] == 13_002
    for name, count in counts.items():
        assert sum(one.numel() for one in MODEL.module().get_submodule(name).parameters()) == count
    assert run().model["parameter_count"] == 13_002


@pytest.mark.parametrize(("activation", "loss"), KINDS)
def test_run_equals_plain_pytorch(activation, loss):
    x, labels = mnist.images("test").numbers(slice(0, 5)), mnist.images("test").labels[:5]
    trace = run(activation, loss, inputs={"x": x.tolist()}, target=labels.tolist())
    module = plain(activation, loss)
    z = module(x)
    torch.testing.assert_close(trace["output.preactivation"], z.detach())
    if loss == "cross_entropy":
        expected = F.cross_entropy(z, labels)
        torch.testing.assert_close(trace["probability"], z.detach().softmax(-1))
        torch.testing.assert_close(trace["prediction"].exp(), z.detach().softmax(-1))
    else:
        expected = (torch.sigmoid(z) - F.one_hot(labels, 10)).square().sum(-1).mean()
        torch.testing.assert_close(trace["prediction"], torch.sigmoid(z).detach())
    assert trace.result["loss"] == pytest.approx(expected.item(), rel=1e-5)
    expected.backward()
    for name, parameter in zip(MODEL.module().state_dict(), module.parameters(), strict=True):
        torch.testing.assert_close(trace[f"{name}.grad"], parameter.grad)


def test_gradient_of_the_outputs_is_p_minus_onehot():
    trace = run(target="3")
    expected = trace["probability"] - F.one_hot(torch.tensor(3), 10)
    torch.testing.assert_close(trace["output.preactivation.grad"], expected)


def test_squared_error_worked_by_hand():
    prediction = torch.full((10,), 0.5)
    prediction[2] = 0.75
    assert LOSSES["squared_error"](prediction, torch.tensor([2])).item() == 0.25**2 + 9 * 0.25
    other = 0.5**2 + 0.75**2 + 8 * 0.25  # 3 is wanted: its own 0.5 is half off, and 0.75 is too much
    both = LOSSES["squared_error"](torch.stack([prediction, prediction]), torch.tensor([[2], [3]]))
    assert both.item() == (0.25**2 + 9 * 0.25 + other) / 2


@pytest.mark.parametrize(("activation", "loss", "count"), [(*kind, 50 if kind == KINDS[0] else 5) for kind in KINDS])
def test_gradients_equal_finite_differences_on_random_parameters(activation, loss, count):
    trace = run(activation, loss, "untrained", target="3")
    names = [name for name, _ in MODEL.module().named_parameters()]
    chance = random.Random(0)
    for _ in range(count):
        name = chance.choice(names)
        place = [chance.randrange(size) for size in trace[name].shape]
        found = engine.verify(trace, name, place, what="gradient")
        assert found.ok and not found.kink, (name, place, found)


def test_gradient_of_a_pixel_is_proved_at_the_ends_of_its_range_too():
    x = list(image())
    x[400] = 1.0
    trace = run(weights="untrained", inputs={"x": x})
    for place in (0, 400):  # paper and ink: the proof moves the number past what may be sent
        found = engine.verify(trace, "x", (place,), what="gradient")
        assert found.ok and found.finite_difference == pytest.approx(found.autograd64, rel=1e-5)


@pytest.mark.parametrize(("activation", "loss"), KINDS)
def test_shipped_weights_read_as_many_test_images_as_their_file_says(activation, loss):
    with safe_open(str(WEIGHTS), framework="pt") as file:
        made = json.loads(file.metadata()["made"])
    images = mnist.images("test")
    network = MODEL.module({"activation": activation, "loss": loss})
    right = (network(images.numbers()).argmax(-1) == images.labels).double().mean().item()
    assert right == pytest.approx(made["test_accuracy"][f"{activation}.{loss}"], abs=5e-4)
    assert right >= (0.955 if (activation, loss) == ("relu", "cross_entropy") else 0.92)


def test_untrained_weights_are_spread_as_pytorch_s_are():
    torch.manual_seed(3)
    expected = nn.Linear(784, 16)
    found = start(seed=3)
    assert torch.equal(found["hidden1.weight"], expected.weight) and torch.equal(found["hidden1.bias"], expected.bias)
    for name, fan_in, _ in layers():
        largest = found[f"{name}.weight"].abs().max().item()
        assert 0.9 / math.sqrt(fan_in) < largest <= 1 / math.sqrt(fan_in)


def test_weights_are_what_the_options_say_they_are():
    assert not torch.equal(start(seed=0)["output.bias"], start(seed=1)["output.bias"])
    for name, value in run(weights="untrained").tensors.items():
        if value.kind == "parameter" and not name.endswith(".updated"):
            assert torch.equal(value.value, start()[name])
    for name, value in trained("relu", "cross_entropy").items():
        assert torch.equal(run()[name], value)


def test_default_is_the_first_test_image_read_right():
    trace = run()
    assert trace["x"].tolist() == pytest.approx(image(0), rel=1e-7) and trace["probability"].argmax() == 7
    assert trace.request["target"] == "7" == str(int(mnist.images("test").labels[0]))
    assert trace.record("probability").axes[0].labels == mnist.DIGITS


def test_an_update_lowers_the_loss_of_its_image():
    for activation, loss in KINDS:
        trace = run(activation, loss, "untrained", update={"learning_rate": 0.01})
        assert trace.result["after_update"]["loss"] < trace.result["loss"]


def test_other_widths_make_the_same_kind_of_network():
    network = DigitNetwork("sigmoid", "squared_error", hidden=(5,))
    assert [tuple(one.shape) for one in network.parameters()] == [(5, 784), (5,), (10, 5), (10,)]
    trace = engine.trace(network, {"x": torch.tensor(image())})
    assert trace.record("output.weight").symbol == "W²" and trace.record("prediction").symbol == "a²"
    assert [axis.name for axis in trace.record("output.weight").axes] == ["digit", "unit1"]
    assert DigitNetwork(hidden=())(torch.tensor(image())).exp().sum().item() == pytest.approx(1)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"inputs": {"x": [0.5] * 783}}, "inputs.x must have 784 numbers; got 783"),
        ({"inputs": {"x": [1.5] + [0] * 783}}, r"inputs.x\[0\] must be a finite number from -1 to 1; got 1.5"),
        ({"inputs": {"x": [-0.5] + [0] * 783}}, r"inputs.x\[0\] must be 0 or more; got -0.5"),
        ({"target": "ten"}, "target must be one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9; got 'ten'"),
        ({"options": {"loss": "hinge"}}, "options.loss must be one of cross_entropy, squared_error; got 'hinge'"),
    ],
)
def test_what_does_not_fit_says_expected_and_got(request_, message):
    with pytest.raises(engine.InputError, match=message):
        MODEL.trace(request_)
