import { readCost } from '../../core/config/cost-section';
import { configError } from '../../core/config/errors';
import { boolean, integer, list, nonNegative } from '../../core/config/rules';
import { openChild, readField, type Section } from '../../core/config/section';
import { tableCost } from '../../core/cost/table';
import { ExpectedError } from '../../core/errors';
import { formatNumber } from '../../core/format';
import type { Located, Place } from '../../core/located';
import { sliceTimeCount } from '../../core/solver/slice-times';
import type { SliceMs, SlicingProblem } from '../../core/solver/problem';
import { missing, openProblem, placeIn, refuseUnknown, required } from './problem-section';
import * as v from 'valibot';

const problemKeys = [
  'batch',
  'tokens',
  'unit',
  'stages',
  'cost',
  'minimumTokens',
  'forwardOnly',
  'stageFactors',
  'maximumInFlight',
] as const;
const coefficientKeys = ['fixed', 'perToken', 'tile', 'perTokenSquared', 'perContext', 'perTokenContext'] as const;

const size = integer(1, 100_000_000);
const coefficient = nonNegative(1e9);
const factor = v.pipe(v.number(), v.gtValue(0), v.maxValue(1e6));
const factors = list(factor, 1, 1_000_000, 'a list of numbers above 0, one per stage');

/** Slice times (128 MB of them) and steps of composing the batch that one problem may take. */
const maximumSteps = 2 ** 24;

/**
 * Reads a problem for `terapipe solve`: `{batch, tokens, unit, stages, cost}` with `cost` a formula or a table, and optionally `minimumTokens`, `forwardOnly`
 * (the objective of eq. 5 is the same, so it changes nothing), `stageFactors` (all equal) and `maximumInFlight` (no less than the batch). A table is of batch 1,
 * so chunks are single sequences then.
 * @throws ExpectedError at its place: `config-*` for what is malformed, `unknown-key`, `solve-too-large`, `solve-unsupported`.
 */
export function readSolveProblem(text: string, file: string): SlicingProblem {
  const section = openProblem(text, file, problemKeys);
  const batch = required(section, 'batch', size);
  const tokens = required(section, 'tokens', size);
  const unit = required(section, 'unit', size);
  const stages = required(section, 'stages', integer(1, 1_000_000));
  const minimumTokens = readField(section, 'minimumTokens', size);
  readField(section, 'forwardOnly', boolean);
  const slowdown = equalFactor(readField(section, 'stageFactors', factors), stages.value);
  refuseFewerInFlight(readField(section, 'maximumInFlight', size), batch.value);
  if (minimumTokens !== undefined && minimumTokens.value > tokens.value)
    throw configError(
      'config-inconsistent',
      `minimumTokens ${minimumTokens.value} is longer than the sequence of ${tokens.value} tokens`,
      `give it at most ${tokens.value}`,
      placeIn(minimumTokens),
    );
  const { cost, maximumBatchSlice } = readSliceCost(section);
  const problem: SlicingProblem = {
    batch: batch.value,
    tokens: tokens.value,
    unit: unit.value,
    stages: stages.value,
    cost: slowdown === 1 ? cost : (...slice) => slowdown * cost(...slice),
    maximumBatchSlice: maximumBatchSlice ?? batch.value,
    minimumTokens: minimumTokens?.value ?? 1,
  };
  refuseTooLarge(problem, placeIn(unit));
  return problem;
}

function readSliceCost(section: Section): { readonly cost: SliceMs; readonly maximumBatchSlice: number | null } {
  const child = openChild(section, 'cost', [...coefficientKeys, 'table']);
  if (child === undefined) throw missing(section, 'cost', 'a formula such as { "fixed": 1, "perToken": 0.01 }, or { "table": ... }');
  if (child.members.has('table')) refuseUnknown(child, ['table'], 'a cost with a table');
  else refuseUnknown(child, coefficientKeys, 'a cost formula');
  const { costTable } = readCost(section);
  if (costTable === undefined) return { cost: readFormula(child), maximumBatchSlice: null };
  const table = tableCost(costTable.value);
  const cost: SliceMs = (batch, tokens, context) => {
    const { forwardMs, backwardMs } = table(batch, tokens, context);
    return forwardMs + backwardMs;
  };
  return { cost, maximumBatchSlice: 1 };
}

/** `fixed + perToken tile ceil(b l / tile) + perTokenSquared b l^2 + perContext b c + perTokenContext b l c`, ms; what is left out counts 0 (tile 1). */
function readFormula(section: Section): SliceMs {
  const fixed = required(section, 'fixed', coefficient).value;
  const perToken = required(section, 'perToken', coefficient).value;
  const tile = readField(section, 'tile', size)?.value ?? 1;
  const optional = (key: (typeof coefficientKeys)[number]): number => readField(section, key, coefficient)?.value ?? 0;
  const perTokenSquared = optional('perTokenSquared');
  const perContext = optional('perContext');
  const perTokenContext = optional('perTokenContext');
  return (batch, tokens, context) =>
    fixed +
    perToken * tile * Math.ceil((batch * tokens) / tile) +
    perTokenSquared * batch * tokens * tokens +
    perContext * batch * context +
    perTokenContext * batch * tokens * context;
}

function equalFactor(given: Located<number[]> | undefined, stages: number): number {
  if (given === undefined) return 1;
  const [first = 1] = given.value;
  if (given.value.length !== stages)
    throw configError(
      'config-inconsistent',
      `stageFactors has ${given.value.length} entries for ${stages} stages`,
      'give one per stage',
      placeIn(given),
    );
  if (given.value.some((value) => value !== first))
    throw new ExpectedError(
      'solve-unsupported',
      'Stages that differ in speed are not supported yet',
      'leave stageFactors out, or give all stages the same factor',
      placeIn(given),
    );
  return first;
}

function refuseFewerInFlight(given: Located<number> | undefined, batch: number): void {
  if (given !== undefined && given.value < batch)
    throw new ExpectedError(
      'solve-unsupported',
      'Fewer sequences in flight than the batch are not supported yet',
      `leave maximumInFlight out, or give it at least ${batch}`,
      placeIn(given),
    );
}

function refuseTooLarge(problem: SlicingProblem, place: Place | undefined): void {
  const { batch, maximumBatchSlice = batch } = problem;
  if (sliceTimeCount(problem) > maximumSteps || batch * maximumBatchSlice > maximumSteps)
    throw new ExpectedError(
      'solve-too-large',
      `The problem takes more than ${formatNumber(maximumSteps)} slice times or steps over the batch`,
      'raise unit or lower batch',
      place,
    );
}
