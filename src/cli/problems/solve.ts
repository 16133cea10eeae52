import { readCost } from '../../core/terapipe/cost-section';
import { boolean, integer, list, nonNegative } from '../../core/domain/settings/rules';
import { openChild, readField, type Section } from '../../core/terapipe/section';
import { tableCost, tableKinks } from '../../core/time-model/table';
import { ExpectedError, configError } from '../../core/errors';
import { formatNumber } from '../../core/format';
import type { Place } from '../../core/domain/located';
import { unitCount, commonUnit, type SliceMs, type SlicingProblem } from '../../core/slicing/problem';
import { batchedKeys, readBatchedTable } from './solve-table';
import { missing, openProblem, placeIn, refuseUnknown, required } from './section';
import * as v from 'valibot';
import { sentence } from '../../core/sentence';

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
  'multiples',
  'oneScheme',
  'tolerance',
] as const;
const coefficientKeys = ['fixed', 'perToken', 'tile', 'perTokenSquared', 'perContext', 'perTokenContext'] as const;

const size = integer(1, 100_000_000);
const coefficient = nonNegative(1e9);
const factor = v.pipe(v.number(), v.gtValue(0), v.maxValue(1e6));
const factors = list(factor, 1, 1_000_000, 'a list of numbers above 0, one per stage');

const multipleList = list(
  v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100_000_000)),
  1,
  16,
  'a list of whole numbers of tokens, as [64, 8]',
);

/**
 * Steps of composing the batch, and numbers that describe slices (per length, batch size and piece of the table), that one problem may
 * take.
 */
const maximumSteps = 2 ** 24;
const maximumLengths = 2 ** 20;
/** Unit boundaries: the work of a threshold grows with their square where slices may be long. */
const maximumUnits = 2 ** 16;

/**
 * Reads a problem for `terapipe solve`: `{batch, tokens, unit, stages, cost}` with `cost` a formula or a table, and optionally what
 * `SlicingProblem` also takes:
 * `minimumTokens`, `multiples`, `stageFactors`, `maximumInFlight`, `oneScheme`, `forwardOnly`, `tolerance`. A table without `batches` is of
 * batch 1, so chunks are single sequences then.
 * @throws ExpectedError at its place: `config-*` for what is malformed, `unknown-key`, `solve-too-large`.
 */
export function readSolveProblem(text: string, file: string): SlicingProblem {
  const section = openProblem(text, file, problemKeys);
  const batch = required(section, 'batch', size);
  const tokens = required(section, 'tokens', size);
  const unit = required(section, 'unit', size);
  const stages = required(section, 'stages', integer(1, 1_000_000));
  const minimumTokens = readField(section, 'minimumTokens', size);
  if (minimumTokens !== undefined && minimumTokens.value > tokens.value)
    throw configError(
      'config-inconsistent',
      sentence`minimumTokens ${minimumTokens.value} is longer than the sequence of ${tokens.value} tokens`,
      sentence`give it at most ${tokens.value}`,
      placeIn(minimumTokens),
    );
  const stageFactors = readField(section, 'stageFactors', factors);
  if (stageFactors !== undefined && stageFactors.value.length !== stages.value)
    throw configError(
      'config-inconsistent',
      sentence`stageFactors has ${stageFactors.value.length} entries for ${stages.value} stages`,
      sentence`give one per stage`,
      placeIn(stageFactors),
    );
  const maximumInFlight = readField(section, 'maximumInFlight', size);
  const problem = {
    batch: batch.value,
    tokens: tokens.value,
    unit: unit.value,
    stages: stages.value,
    ...readSliceCost(section),
    minimumTokens: minimumTokens?.value ?? 1,
    multiples: readField(section, 'multiples', multipleList)?.value ?? [],
    forwardOnly: readField(section, 'forwardOnly', boolean)?.value ?? false,
    oneScheme: readField(section, 'oneScheme', boolean)?.value ?? false,
    tolerance: readField(section, 'tolerance', nonNegative(0.5))?.value ?? 0,
    ...(stageFactors === undefined ? {} : { stageFactors: stageFactors.value }),
    ...(maximumInFlight === undefined ? {} : { maximumInFlight: maximumInFlight.value }),
  };
  refuseTooLarge(problem, placeIn(unit));
  return problem;
}

type SliceCostFields = Pick<SlicingProblem, 'cost' | 'grows' | 'maximumBatchSlice' | 'work'> & { readonly contextKinks: readonly number[] };

function readSliceCost(section: Section): SliceCostFields {
  const child = openChild(section, 'cost', [...coefficientKeys, 'table']);
  if (child === undefined) throw missing(section, 'cost', 'a formula such as { "fixed": 1, "perToken": 0.01 }, or { "table": ... }');
  if (child.members.has('table')) refuseUnknown(child, ['table'], 'a cost with a table');
  else refuseUnknown(child, coefficientKeys, 'a cost formula');
  const batched = openChild(child, 'table', batchedKeys);
  if (batched?.members.has('batches') === true) return readBatchedTable(batched);
  const { costTable } = readCost(section);
  if (costTable === undefined) return readFormula(child);
  const table = tableCost(costTable.value);
  const cost: SliceMs = (batch, tokens, context) => {
    const { forwardMs, backwardMs } = table(batch, tokens, context);
    return forwardMs + backwardMs;
  };
  return { cost, contextKinks: tableKinks(costTable.value), maximumBatchSlice: 1 };
}

/**
 * `fixed + perToken tile ceil(b l / tile) + perTokenSquared b l^2 + perContext b c + perTokenContext b l c`, ms; what is left out counts 0
 * (tile 1).
 */
function readFormula(section: Section): SliceCostFields {
  const fixed = required(section, 'fixed', coefficient).value;
  const perToken = required(section, 'perToken', coefficient).value;
  const tile = readField(section, 'tile', size)?.value ?? 1;
  const optional = (key: (typeof coefficientKeys)[number]): number => readField(section, key, coefficient)?.value ?? 0;
  const perTokenSquared = optional('perTokenSquared');
  const perContext = optional('perContext');
  const perTokenContext = optional('perTokenContext');
  const cost: SliceMs = (batch, tokens, context) =>
    fixed +
    perToken * tile * Math.ceil((batch * tokens) / tile) +
    perTokenSquared * batch * tokens * tokens +
    perContext * batch * context +
    perTokenContext * batch * tokens * context;
  return { cost, contextKinks: [], grows: true, work: { perToken, perTokenContext } };
}

function refuseTooLarge(problem: Omit<SlicingProblem, 'contextKinks'> & SliceCostFields, place: Place | undefined): void {
  const { batch, maximumBatchSlice = batch, contextKinks } = problem;
  const units = unitCount({ tokens: problem.tokens, unit: commonUnit(problem) });
  const kinds = Math.min(batch, maximumBatchSlice);
  if (units > maximumUnits || units * kinds * (contextKinks.length + 1) > maximumLengths || batch * kinds > maximumSteps)
    throw new ExpectedError(
      'solve-too-large',
      sentence`The problem has more than ${formatNumber(maximumUnits)} units, ${formatNumber(maximumLengths)} lengths over all batch sizes, or ${formatNumber(maximumSteps)} steps over the batch`,
      sentence`raise unit or lower batch`,
      place,
    );
}
