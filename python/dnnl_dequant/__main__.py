"""python -m dnnl_dequant: prints info(), and times one dequantize."""
import timeit

import numpy as np

import dnnl_dequant


def best_ms(call):
    """The best of five, each of some ten milliseconds or one call."""
    count = max(1, int(0.01 / max(timeit.timeit(call, number=1), 1e-6)))
    return min(timeit.repeat(call, number=count, repeat=5)) / count * 1e3


def main():
    random = np.random.default_rng(1)
    x = random.integers(0, 256, (4096, 4096), np.uint8)
    scale = random.random(4096, np.float32)
    zero_point = random.integers(0, 256, 4096, np.uint8)
    out = np.empty(x.shape, np.float32)

    def ours():
        dnnl_dequant.dequantize(x, scale, zero_point, axis=0, out=out)

    def numpys():
        np.subtract(x, zero_point[:, None].astype(np.float32), out=out)
        np.multiply(out, scale[:, None], out=out)

    numpys()
    expected = out.copy()
    ours()
    for name, value in dnnl_dequant.info().items():
        print(f"{name}: {value}")
    print(f"dequantize of uint8 4096 x 4096, a scale a row: numpy "
          f"{best_ms(numpys):.2f} ms, here {best_ms(ours):.2f} ms, results "
          f"{'equal' if np.array_equal(out, expected) else 'DIFFER'}")


if __name__ == "__main__":
    main()
