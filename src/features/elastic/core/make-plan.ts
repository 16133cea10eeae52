import { memoized } from '../../../core/records';
import { throwIfCancelled, type CancelSignal } from '../../../core/errors';
import { formatBytes, formatCount, formatNumber } from '../../../core/format';
import { verdictSentence } from '../../../core/memory-model/verdict';
import type { Timeline } from '../../../core/schedules/schedule';
import { balanceNames } from '../../../core/run/elastic';
import { stageSums } from './balance';
import { alphaPolicy, changePolicy, givenPolicy, gradientPolicy, type FreezePolicy } from './freeze';
import { epochVerdict } from './stage-bytes';
import { toGradientNorms } from './norm-table';
import type { BalanceChoice, ElasticEpoch, ElasticPlan, ElasticVariant, VariantId } from './plan';
import type { ElasticRequest } from './request';
import { allMechanisms, runEpochs, totalEpochMs, type Mechanisms } from './run-epochs';
import { activeUnits, cutUnits, modelledStep, elasticContext, stepTimeline, type ElasticContext } from './context';
import { counted, sentence, type Sentence } from '../../../core/sentence';
import { maximum, minimum } from '../../../core/numbers';

/** The policy that a request names. @throws ExpectedError as the policies. */
function freezePolicy({ freezing, model }: ElasticRequest): FreezePolicy {
  const { layers } = model.spec;
  switch (freezing.kind) {
    case 'alpha':
      return alphaPolicy(layers, freezing.alpha);
    case 'gradients':
      return gradientPolicy(layers, freezing.alpha, toGradientNorms(freezing.norms));
    case 'changes':
      return changePolicy(layers, toGradientNorms(freezing.norms));
    case 'given':
      return givenPolicy(layers, freezing.frozenLayers);
  }
}

const mechanisms: Readonly<Record<Exclude<VariantId, 'none'>, Mechanisms>> = {
  freezing: { pipe: false, replicas: false, cache: false },
  pipe: { pipe: true, replicas: false, cache: false },
  'pipe-cache': { pipe: true, replicas: false, cache: true },
  'pipe-dp': { pipe: true, replicas: true, cache: false },
  all: allMechanisms,
};

/**
 * Plans a run that freezes layers: for every epoch how many are frozen, how the others are cut into a shorter pipeline, how many replicas
 * that makes room for, whether the frozen layers' outputs are cached, and how long it takes; and the same run with fewer of these. Frozen
 * layers run apart, for the whole batch, on the first GPU of a pipeline (released code of arXiv 2102.03161), which is why freezing by
 * itself does not help.
 * @param policy another rule than the request's for how many layers freeze.
 * @throws ExpectedError `elastic-replicas`, `elastic-norms` and others of the policy; CancelledError.
 */
export function planElastic(request: ElasticRequest, policy: FreezePolicy = freezePolicy(request), signal?: CancelSignal): ElasticPlan {
  const context = elasticContext(request);
  const frozen = frozenByEpoch(request, policy);
  const none = runEpochs(context, frozen.map(() => 0), mechanisms.freezing, signal); // prettier-ignore
  const runs = Object.entries(mechanisms).map(([id, switches]) => ({
    id: id as VariantId,
    epochs: runEpochs(context, frozen, switches, signal),
  }));
  const epochs = runs.find(({ id }) => id === 'all')?.epochs ?? none;
  const baselineMs = totalEpochMs(none);
  const variants = [{ id: 'none' as const, epochs: none }, ...runs].map((run) => toVariant(run, baselineMs));
  const totalMs = totalEpochMs(epochs);
  const plan = {
    request,
    parameters: context.units.reduce((sum, unit) => sum + unit.parameters, 0),
    freezing: policy.description,
    epochs,
    balances: balancesByEpoch(context, epochs, signal),
    variants,
    totalMs,
    speedup: baselineMs / totalMs,
    cost: elasticProvenance(request),
  };
  return { ...plan, reasons: elasticReasons(plan) };
}

/** Frozen layers of every epoch: ascending, and never more than there are layers. */
export function frozenByEpoch({ epochs, model }: ElasticRequest, policy: FreezePolicy): number[] {
  let previous = 0;
  return Array.from({ length: epochs }, (_, epoch) => {
    previous = Math.min(model.spec.layers, Math.max(previous, policy.frozenLayers(epoch, previous)));
    return previous;
  });
}

function toVariant(
  { id, epochs }: { readonly id: VariantId; readonly epochs: readonly ElasticEpoch[] },
  baselineMs: number,
): ElasticVariant {
  const totalMs = totalEpochMs(epochs);
  return { id, totalMs, speedup: baselineMs / totalMs, epochMs: Float64Array.from(epochs, ({ epochMs }) => epochMs) };
}

/** Epochs that run alike share one answer. */
function balancesByEpoch(context: ElasticContext, epochs: readonly ElasticEpoch[], signal?: CancelSignal): ElasticPlan['balances'] {
  const known = new Map<string, readonly BalanceChoice[]>();
  return epochs.map((epoch) => {
    throwIfCancelled(signal);
    return memoized(known, `${epoch.frozenLayers},${epoch.pipelineLength}`, () => epochBalances(context, epoch));
  });
}

/** The three ways to cut one epoch's units for its pipeline length; without those that fit no GPU. */
function epochBalances(context: ElasticContext, epoch: ElasticEpoch): BalanceChoice[] {
  const { frozenLayers, pipelineLength, batch } = epoch;
  const parameters = activeUnits(context, frozenLayers).map((unit) => unit.parameters);
  return balanceNames.flatMap((name) => {
    if (cutUnits(context, name, frozenLayers, pipelineLength, batch) === null) return [];
    const { stageUnits, pipelineMs } = modelledStep(context, { ...epoch, balance: name, isFrozenInside: false });
    const largestParameters = maximum(stageSums(parameters, stageUnits));
    return [{ name, stageUnits, largestParameters, pipelineMs: pipelineMs * epoch.calibration }];
  });
}

function elasticProvenance({ throughputs, fillingThroughputs, cluster, profile }: ElasticRequest): ElasticPlan['cost'] {
  const rates = throughputs.length + fillingThroughputs.length;
  const model =
    profile === null
      ? sentence`analytic step-time model for ${cluster.gpu.name}`
      : sentence`layer times profiled on ${profile.profile.device.name}`;
  if (rates > 0) return { kind: 'throughputs', description: sentence`${counted(rates, 'measured rate')}; between them scaled: ${model}` };
  return { kind: profile === null ? 'roofline' : 'profile', description: model };
}

/** One epoch's step as events, for drawing. */
interface EpochTimeline {
  /** The pipeline part of one step, from 0. Its units are micro-batches. */
  readonly timeline: Timeline;
  /** Before it on the first GPU: the frozen layers, computed or read. After it: gradient exchange and optimizer. */
  readonly frozenMs: number;
  readonly allReduceMs: number;
  readonly optimizerMs: number;
}

/**
 * Events of one step of an epoch of a plan, on every pipeline alike. Times add up to the epoch's `stepMs`.
 * @throws RangeError for an epoch that the plan does not have.
 */
export function elasticTimeline(plan: ElasticPlan, epoch: number): EpochTimeline {
  const found = plan.epochs[epoch];
  if (found === undefined) throw new RangeError(`the plan has no epoch ${epoch}`);
  const context = elasticContext(plan.request);
  const { frozenMs, allReduceMs, optimizerMs, calibration } = found;
  const timeline = stepTimeline(context, { ...found, balance: plan.request.balance });
  const scaled = {
    ...timeline,
    startMs: timeline.startMs.map((ms) => ms * calibration),
    endMs: timeline.endMs.map((ms) => ms * calibration),
    makespanMs: timeline.makespanMs * calibration,
  };
  return { timeline: scaled, frozenMs, allReduceMs, optimizerMs };
}

/** What the figures and the gain of each mechanism do not show. */
function elasticReasons({ request, epochs, balances }: Omit<ElasticPlan, 'reasons'>): Sentence[] {
  const last = epochs.at(-1);
  const cached = epochs.find(({ cache }) => cache.used);
  const unfit = epochs.find(({ fits }) => !fits);
  return [
    ...(last === undefined
      ? []
      : [
          sentence`Ends with ${counted(last.frozenLayers, 'frozen layer')} on ${counted(last.replicas, 'pipeline')} of ${counted(last.pipelineLength, 'GPU')}`,
        ]),
    balanceReason(epochs, balances),
    ...(cached === undefined
      ? []
      : [
          cached.cache.diskBytes > 0
            ? sentence`Caching pays from epoch ${cached.epoch} on, ${formatBytes(cached.cache.sampleBytes)} a sample: ${formatBytes(cached.cache.hostBytes)} of host memory and ${formatBytes(cached.cache.diskBytes)} of disk on every node`
            : sentence`Caching pays from epoch ${cached.epoch} on, ${formatBytes(cached.cache.sampleBytes)} a sample: ${formatBytes(cached.cache.hostBytes)} of host memory on every node`,
        ]),
    ...(unfit === undefined
      ? []
      : [
          sentence`Epoch ${formatCount(unfit.epoch)}: ${verdictSentence(epochVerdict(unfit.stageBytes, request.cluster.gpu))}; give a smaller batch, or recompute`,
        ]),
  ];
}

/** What the best cut gains over PipeTransformer's over the whole run, only pipeline parts. */
function balanceReason(epochs: readonly ElasticEpoch[], balances: ElasticPlan['balances']): Sentence {
  const total = (pick: (choices: readonly BalanceChoice[]) => number) =>
    epochs.reduce((sum, { steps }, index) => sum + steps * pick(balances[index] ?? []), 0);
  const greedyMs = total((choices) => choices.find(({ name }) => name === 'greedy')?.pipelineMs ?? 0);
  const bestMs = total((choices) => minimum(choices.map(({ pipelineMs }) => pipelineMs)));
  const share = 1 - bestMs / greedyMs;
  return share < 0.005
    ? sentence`The greedy balance is as fast as the exact ones`
    : sentence`The best balance takes ${formatNumber(100 * share)} % less pipeline time than the greedy one`;
}
