"""Real glitches beside simulated ones of the same classes (docs/simulate.md).

Run: python -m wisecrowd.experiments.glitch_pictures [--out FILE.png]
Real strain: 60 glitches of LIGO's third run, whitened, from the package deepextractor
(MIT), in $WISECROWD_DATA/gravityspy. Both go through the same Q-transform.
"""

import os
from pathlib import Path

import numpy as np
from PIL import Image

from wisecrowd._types import Array
from wisecrowd.experiments.runner import command
from wisecrowd.metrics.reliability_figure import pyplot
from wisecrowd.simulation.glitches import spectrograms, strain
from wisecrowd.simulation.glitches.features import energy
from wisecrowd.simulation.glitches.items import CLASSES, KINDS, Items

SHOWN = ("Blip", "Scattered Light", "Whistle")
ROWS, COLUMNS, EACH = 80, 64, 2


def real_windows(wave: Array) -> Array:
    """Return the four windows of the middle of a whitened wave."""
    wave = wave / (np.median(np.abs(wave)) / 0.6745)  # noise has deviation 1
    half = strain.TIME.shape[1] // 2
    part = wave[None, len(wave) // 2 - half : len(wave) // 2 + half]
    spectrum = np.fft.rfft(part, axis=1).astype(np.complex64)
    return spectrograms.windows(spectrograms.q_transform(spectrum, ROWS), COLUMNS)[0]


def simulated_windows(name: str, rng: np.random.Generator) -> Array:
    """Return the four windows of a simulated glitch of this class."""
    code = np.array([CLASSES.index(name)])
    item = Items(code, np.array([KINDS[name].snr]), code, np.zeros(1))
    return spectrograms.windows(energy(item, rng, ROWS), COLUMNS)[0]


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    parser = command(__doc__)
    parser.add_argument("--out", type=Path, default="docs/images/glitches.png")
    out = parser.parse_args(arguments).out
    folder = Path(os.environ["WISECROWD_DATA"], "gravityspy")
    data, rng = np.load(folder / "o3_glitch_strain_60.npz"), np.random.default_rng(1)
    n_windows = len(spectrograms.WINDOWS)
    figure, axes = pyplot().subplots(
        2 * len(SHOWN), EACH * n_windows, figsize=(9, 6.2), layout="constrained"
    )
    for r, name in enumerate(SHOWN):
        found = np.flatnonzero(data["label"] == name.replace(" ", "_"))
        order = np.argsort(-data["snr"][found])[
            1 : 2 * EACH : 2
        ]  # clear, not the loudest
        for k, i in enumerate(found[order]):
            both = real_windows(data["h_input"][i]), simulated_windows(name, rng)
            for kind, made in enumerate(both):
                row = axes[2 * r + kind, k * n_windows : (k + 1) * n_windows]
                if k == 0:
                    said = f"{name}\n{('real', 'simulated')[kind]}"
                    row[0].set_ylabel(said, fontsize=8, rotation=0, ha="right")
                for ax, picture in zip(row, made, strict=True):
                    ax.imshow(picture, origin="lower", aspect="auto", vmin=0, vmax=1)
    for ax in axes.flat:
        ax.set_xticks([])
        ax.set_yticks([])
    for k, ax in enumerate(axes[-1]):
        ax.set_xlabel(f"{spectrograms.WINDOWS[k % n_windows]:g} s", fontsize=7)
    figure.canvas.draw()
    picture = Image.fromarray(np.asarray(figure.canvas.buffer_rgba())).convert("RGB")
    picture.quantize(64).save(out, optimize=True)


if __name__ == "__main__":
    main()
