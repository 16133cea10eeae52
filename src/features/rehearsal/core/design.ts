import { sum } from '../../../core/numbers';
import { ExpectedError } from '../../../core/errors';
import { formatCount, plural } from '../../../core/format';
import { scheduleChunks } from '../../../core/partition/chunks';
import { scheduleOn } from '../../../core/schedules/on-layout';
import { chosenCandidate, type Plan } from '../../../core/planner/plan';
import { generateSchedule, toScheduleProblem } from '../../../core/schedules/registry';
import { schemeUnits, type Schedule } from '../../../core/schedules/schedule';
import { rankLayerShape, unlikeOneLayer } from '../../../core/measured-profile/shape';
import type { LayerShape } from '../../../core/domain/profile';
import { wholeLayers, type Recompute } from '../../../core/domain/recompute';
import type { PlanRequest } from '../../../core/domain/request';
import type { BatchSlice, Scheme } from '../../../core/domain/scheme';
import { stageBytes, type ChunkLayers, type RehearsedSizes } from './estimate';
import { counted, sentence, type Sentence } from '../../../core/sentence';

/** How the plan is made smaller; null: as it is. */
export interface Scale {
  readonly layers: number | null;
  readonly hidden: number | null;
  /** Tokens of a sequence. */
  readonly sequence: number | null;
  /** Sequences of the step. */
  readonly batch: number | null;
  readonly stages: number | null;
}

/** What is to be run: the plan's schedule on a model of the plan's layers, on one rank's share. */
export interface RehearsalDesign extends RehearsedSizes {
  readonly title: string;
  /** As the plan names it. */
  readonly scheduleName: string;
  readonly scheme: Scheme;
  readonly layers: number;
  /** Sequences of the step. */
  readonly batch: number;
  /** The head is the token table. */
  readonly tied: boolean;
  /** Memory that the process of each stage takes at most, bytes: an estimate. */
  readonly stageBytes: readonly number[];
  /** In what it is not the plan: sentences. */
  readonly notes: readonly string[];
}

/** Entries of a stand-in vocabulary, where no file sets one. */
const standInVocab = 512;

/**
 * What a rehearsal of a plan runs.
 * @param scale sizes in place of the plan's, where not null. @param scheme instead of the plan's.
 * @throws ExpectedError `rehearsal-*` where it cannot be; `schedule-unmet` where the schedule cannot run what is left.
 */
function designRehearsal(plan: Plan, scale: Scale, scheme?: Scheme): RehearsalDesign {
  const { request } = plan;
  requireRehearsable(request);
  const candidate = chosenCandidate(plan);
  const layout = { ...request.layout, pipeline: scale.stages ?? request.layout.pipeline };
  const tokens = scale.sequence ?? request.training.sequenceLength;
  const kind = { ...scheduleOn(candidate.schedule, layout), chunks: candidate.chunksPerStage };
  const layers = scale.layers ?? request.model.layers;
  const isCut = layers !== request.model.layers || scale.stages !== null;
  const model = { ...request.model, layers };
  const stageLayers = isCut ? null : (layout.stageLayers ?? null);
  const chunkCount = layout.pipeline * kind.chunks;
  if (layers < chunkCount)
    throw new ExpectedError(
      'rehearsal-layers',
      sentence`${counted(layers, 'layer')} ${layers === 1 ? sentence`is` : sentence`are`} too few for ${counted(chunkCount, 'chunk')} of ${counted(layout.pipeline, 'stage')}`,
      sentence`rehearse ${formatCount(chunkCount)} layers or more, or fewer stages`,
    );
  const { chunkContents } = scheduleChunks({ model, training: request.training, layout }, kind, stageLayers);
  const cut = scheme ?? scaledScheme(candidate.scheme, request.training.sequenceLength, tokens, scale.batch);
  const isSameOrder = scheme === undefined && scale.stages === null && scale.batch === null;
  const schedule: Schedule =
    isSameOrder && candidate.timeline !== null
      ? { ...candidate.timeline, units: schemeUnits(cut) }
      : generateSchedule(kind.name, toScheduleProblem(cut, layout.pipeline, kind.chunks));
  const shape = scaledShape(rankLayerShape(request.model, layout.tensor, layout.expert), scale.hidden);
  const sizes: RehearsedSizes = {
    schedule,
    shape,
    chunks: inOrder(
      chunkContents.map((contents) => contents.layers),
      request.training,
    ),
    keepsProbabilities: request.training.attention !== 'flash',
    tokens,
  };
  return {
    ...sizes,
    stageBytes: Array.from({ length: schedule.stages }, (_, stage) => stageBytes(sizes, stage)),
    title: request.title,
    scheduleName: candidate.schedule,
    scheme: cut,
    layers,
    batch: cut.reduce((sum, chunk) => sum + chunk.batch, 0),
    tied: request.model.tiedEmbeddings,
    notes: designNotes(request, { ...scale, layers: layers === request.model.layers ? null : layers }, shape),
  };
}

function inOrder(counts: readonly number[], training: Recompute): ChunkLayers[] {
  let first = 0;
  return counts.map((count) => {
    const chunk = { first, count, recomputed: wholeLayers(training, { layers: count }) };
    first += count;
    return chunk;
  });
}

/** The same cut of shorter sequences, and of only the first `batch` sequences. */
function scaledScheme(scheme: Scheme, tokens: number, scaledTokens: number, batch: number | null): Scheme {
  let left = batch ?? Infinity;
  const kept: BatchSlice[] = [];
  for (const chunk of scheme) {
    if (left <= 0) break;
    const sequences = Math.min(chunk.batch, left);
    kept.push({ batch: sequences, tokens: scaledLengths(chunk.tokens, tokens, scaledTokens) });
    left -= sequences;
  }
  return kept;
}

/** Lengths in proportion, at least a token each, that add up. */
function scaledLengths(lengths: readonly number[], tokens: number, scaledTokens: number): number[] {
  if (tokens === scaledTokens) return [...lengths];
  const count = Math.min(lengths.length, scaledTokens);
  let [before, at] = [0, 0];
  return lengths.slice(0, count).map((length, index) => {
    before += length;
    const isLast = index === count - 1;
    const end = isLast
      ? scaledTokens
      : Math.min(Math.max(Math.round((before * scaledTokens) / tokens), at + 1), scaledTokens - (count - 1 - index));
    const scaled = end - at;
    at = end;
    return scaled;
  });
}

/** A narrower layer of as many of the same heads as fit; of the same proportions. */
function scaledShape(shape: LayerShape, hidden: number | null): LayerShape {
  const vocab = shape.vocab === 0 ? standInVocab : shape.vocab;
  if (hidden === null || hidden === shape.hidden) return { ...shape, vocab };
  const share = hidden / shape.hidden;
  const groups = Math.max(1, Math.round(shape.heads / shape.kvHeads));
  const headDim = Math.min(shape.headDim, 2 * Math.max(1, Math.round(hidden / 2)));
  const kvHeads = Math.max(1, Math.round((shape.kvHeads * share * shape.headDim) / headDim));
  return {
    ...shape,
    hidden,
    headDim,
    kvHeads,
    heads: kvHeads * groups,
    ffn: Math.max(8, 8 * Math.round((shape.ffn * share) / 8)),
    vocab: Math.max(Math.min(vocab, standInVocab), Math.round(vocab * share)),
  };
}

function designNotes({ model, training, layout }: PlanRequest, scale: Scale, shape: LayerShape): string[] {
  const when = (condition: boolean, note: string): string[] => (condition ? [note] : []);
  return [
    ...when(scale.stages !== null, `${plural(scale.stages ?? 0, 'stage')} instead of ${formatCount(layout.pipeline)}`),
    ...when(scale.layers !== null, `${plural(scale.layers ?? 0, 'layer')} instead of ${formatCount(model.layers)}`),
    ...when(
      scale.hidden !== null,
      `Width ${formatCount(shape.hidden)} instead of ${formatCount(model.hidden)}, with ${plural(shape.heads, 'head')} of ${formatCount(shape.headDim)}, a feed-forward of ${formatCount(shape.ffn)} and ${formatCount(shape.vocab)} words`,
    ),
    ...when(
      scale.sequence !== null,
      `Sequences of ${plural(scale.sequence ?? 0, 'token')} instead of ${formatCount(training.sequenceLength)}`,
    ),
    ...when(
      scale.batch !== null,
      `${plural(scale.batch ?? 0, 'sequence')} a step instead of ${formatCount(Math.floor(training.globalBatch / layout.data))}`,
    ),
    ...when(layout.data > 1, `One of ${plural(layout.data, 'replica')}: gradients are not exchanged`),
    ...when(
      layout.tensor > 1,
      `One rank's share of tensor ${formatCount(layout.tensor)}, without its collectives: gradients are those of that share`,
    ),
    ...when(model.vocab === 0, `No file sets a vocabulary: ${plural(standInVocab, 'word')} are used`),
    ...when(training.precision !== 'fp32', `Computed in fp32 instead of ${training.precision}`),
    ...when(training.dropout, 'Without dropout'),
  ];
}

/** The design whose processes fit into memory: with as many of the model's layers as do, where `scale` does not set it. */
export function fittingDesign(plan: Plan, scale: Scale, usableBytes: number): RehearsalDesign {
  const whole = designRehearsal(plan, scale);
  if (scale.layers !== null || neededBytes(whole) <= usableBytes) return whole;
  let [least, most] = [whole.chunks.length, whole.layers];
  // The most layers that fit, or as few as the chunks allow.
  while (least < most) {
    const middle = Math.ceil((least + most) / 2);
    if (neededBytes(designRehearsal(plan, { ...scale, layers: middle })) <= usableBytes) least = middle;
    else most = middle - 1;
  }
  return designRehearsal(plan, { ...scale, layers: least });
}

/** Memory of all processes together, bytes. */
export function neededBytes({ stageBytes: ofStages }: RehearsalDesign): number {
  return sum(ofStages);
}

/** What cannot be run here yet, in words. @throws ExpectedError `rehearsal-model`, `rehearsal-layout`, `rehearsal-recompute`. */
function requireRehearsable(request: PlanRequest): void {
  const { model, layout, training } = request;
  const unlike = unlikeModel(request);
  if (unlike !== null)
    throw new ExpectedError(
      'rehearsal-model',
      sentence`This model cannot be rehearsed: ${unlike}`,
      sentence`rehearse a model whose layers all have the same attention`,
    );
  if (layout.context > 1)
    throw new ExpectedError(
      'rehearsal-layout',
      sentence`Context parallelism splits the sequence inside a layer, which a rehearsal does not run`,
      sentence`rehearse with --set layout.context=1`,
    );
  if (layout.expert > 1)
    throw new ExpectedError(
      'rehearsal-layout',
      sentence`Expert parallelism exchanges tokens between ranks, which a rehearsal does not run`,
      sentence`rehearse with --set layout.expert=1`,
    );
  if (model.heads % layout.tensor !== 0 || model.ffn % layout.tensor !== 0)
    throw new ExpectedError(
      'rehearsal-layout',
      sentence`${counted(model.heads, 'head')} and a feed-forward size of ${model.ffn} are not both divisible by ${counted(layout.tensor, 'tensor-parallel rank')}`,
      sentence`set layout.tensor to a divisor of both`,
    );
  if (training.recompute !== 'none' && (training.recompute !== 'full' || (training.recomputeGroup ?? 1) > 1))
    throw new ExpectedError(
      'rehearsal-recompute',
      sentence`Recomputation (${training.recompute}) is not rehearsed yet`,
      sentence`rehearse with --set training.recompute=none, or full, layer by layer`,
    );
}

/** The part of the model that has no graph yet, as a clause; null: nothing. */
function unlikeModel({ model, training, layout }: PlanRequest): Sentence | null {
  if (layout.stageLayers?.slice(1, -1).includes(0) === true) return sentence`a stage without layers, embedding or head has no graph yet`;
  if (model.latent) return sentence`latent attention has no graph yet`;
  if (model.state !== undefined) return sentence`state-space and linear-attention layers have no graph yet`;
  if ((model.experts?.sharedFfn ?? 0) > 0) return sentence`shared experts have no graph yet`;
  if (model.experts !== null) return sentence`experts, routed for a whole sequence, have no graph yet`;
  if (model.stacks !== undefined) return sentence`it has an encoder in addition to its decoder`;
  if ((model.mtpLayers ?? 0) > 0) return sentence`multi-token prediction has no graph yet`;
  if (model.attentionSinks === true) return sentence`attention sinks have no graph yet`;
  if (model.layerKinds?.some(({ window }) => window !== null && window < training.sequenceLength) === true)
    return sentence`a window of attention has no graph yet`;
  return unlikeOneLayer(model);
}
