import type { Axis } from './axis';

/** Colour of what is drawn: a direction of a pass, neither or both, or too much. */
export type Tone = 'forward' | 'backward' | 'both' | 'over';

/** Form of a point, so that colour is not the only difference. */
export type Shape = 'disc' | 'diamond' | 'star' | 'cross';

/** A line through a chart. `faint`: 0 full colour to 1 background. */
export interface Curve {
  readonly tone: Tone;
  readonly faint: number;
  readonly points: readonly (readonly [x: number, y: number])[];
  /** Written at its end. */
  readonly label: string;
}

/** A point that can be pointed at. */
export interface Dot {
  readonly id: string;
  /** Arrow keys along x stay in a group. */
  readonly group: string;
  readonly tone: Tone;
  readonly shape: Shape;
  readonly faint: number;
  readonly x: number;
  readonly y: number;
  /** Drawn as an outline. */
  readonly hollow: boolean;
  /** The text of a tooltip; the first line is its title. */
  readonly lines: () => readonly string[];
}

/** A straight line with a word, across at `y` or down at `x`. */
export type Guide =
  | { readonly across: number; readonly text: string; readonly tone?: Tone }
  | { readonly down: number; readonly text: string; readonly tone?: Tone };

/** Everything one chart shows. */
export interface ChartContent {
  readonly x: Axis;
  readonly y: Axis;
  /** Written at the end of the x axis, where there is room. */
  readonly xName: string;
  readonly curves: readonly Curve[];
  /** Ascending in x. */
  readonly dots: readonly Dot[];
  readonly guides: readonly Guide[];
  /** Values of y that are as good as wished. */
  readonly band: { readonly from: number; readonly to: number } | null;
}
