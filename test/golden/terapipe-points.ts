import { predictTeraPipe, terapipeSettings } from './rows';

/** A measured latency with equal slices: TeraPipe's Fig. 6 and its appendix table, ms. */
export interface UniformPoint {
  readonly setting: number;
  readonly slices: number;
  readonly measuredMs: number;
}

export const terapipeTablePoints: readonly UniformPoint[] = [
  { setting: 8, slices: 4, measuredMs: 1241 },
  { setting: 8, slices: 8, measuredMs: 1255 },
  { setting: 8, slices: 16, measuredMs: 1241 },
  { setting: 9, slices: 4, measuredMs: 2902 },
  { setting: 9, slices: 8, measuredMs: 1892 },
  { setting: 9, slices: 16, measuredMs: 1547 },
  { setting: 9, slices: 32, measuredMs: 1593 },
  { setting: 9, slices: 64, measuredMs: 2227 },
  { setting: 9, slices: 128, measuredMs: 3252 },
];

/** Our prediction for a point, ms. */
export function predictPoints({ setting, slices }: UniformPoint): number {
  const row = terapipeSettings.find((candidate) => candidate.setting === setting);
  if (row === undefined) throw new Error(`no setting ${setting}`);
  return predictTeraPipe(
    row,
    Array.from({ length: slices }, () => 2048 / slices),
  ).iterationMs;
}
