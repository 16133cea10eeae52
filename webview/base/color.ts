/** Red, green, blue 0..255 and opacity 0..1. */
export type Rgba = readonly [number, number, number, number];

/** `from` with `share` (0..1) of `to` mixed in; opacity too. */
export function mix(from: Rgba, to: Rgba, share: number): Rgba {
  const part = (index: 0 | 1 | 2 | 3): number => from[index] + (to[index] - from[index]) * share;
  return [part(0), part(1), part(2), part(3)];
}

/** `color` blended over an opaque `under`. */
export function over(color: Rgba, under: Rgba): Rgba {
  const [red, green, blue] = mix(under, [color[0], color[1], color[2], 1], color[3]);
  return [red, green, blue, 1];
}

/** The same colour with another opacity. */
export function withAlpha([red, green, blue]: Rgba, alpha: number): Rgba {
  return [red, green, blue, alpha];
}

/** As CSS writes it. */
export function css([red, green, blue, alpha]: Rgba): string {
  return `rgba(${Math.round(red)}, ${Math.round(green)}, ${Math.round(blue)}, ${Number(alpha.toFixed(3))})`;
}

/** WCAG 2 relative luminance, 0..1, of an opaque colour. */
function luminance([red, green, blue]: Rgba): number {
  const linear = (channel: number): number => {
    const share = channel / 255;
    return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
}

/** WCAG 2 contrast ratio of two opaque colours, 1..21. */
export function contrast(a: Rgba, b: Rgba): number {
  const [dark = 0, light = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (light + 0.05) / (dark + 0.05);
}

/** Black or white, whichever reads better on `color`. */
export function readableOn(color: Rgba): Rgba {
  const black: Rgba = [0, 0, 0, 1];
  const white: Rgba = [255, 255, 255, 1];
  return contrast(color, white) >= contrast(color, black) ? white : black;
}
