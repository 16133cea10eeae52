import { formatCount } from '../format';
import { layerGroups } from '../model/layers';
import { stackLayerFlops, type SequenceLengths } from '../model/flops';
import type { ModelSpec } from '../domain/model';
import { headTokens } from '../model/stacks';
import type { PlanRequest } from '../domain/request';
import { joinClauses, sentence, type Sentence, type Value } from '../sentence';

/**
 * Layers of each stage of an encoder-decoder model by default: a stage has layers of one stack only, as Megatron-LM places them
 * (`--pipeline-model-parallel-split-rank`), of each stack as equal as can be, and as many stages are the encoder's as make the stage with
 * most arithmetic, the head on the last one counted, lightest. With one stage, or more stages than layers of both stacks, all layers in a
 * row.
 */
export function stackCut(model: ModelSpec, training: SequenceLengths, stages: number): readonly number[] {
  const encoderLayers = model.stacks?.encoderLayers ?? 0;
  const decoderLayers = model.layers - encoderLayers;
  let best: { readonly cut: readonly number[]; readonly heaviest: number } = {
    cut: firstHeavyCut(model.layers, stages),
    heaviest: Infinity,
  };
  for (const cut of stackCuts(encoderLayers, decoderLayers, stages)) {
    const heaviest = heaviestStage(model, training, cut);
    if (heaviest < best.heaviest) best = { cut, heaviest };
  }
  return best.cut;
}

/**
 * The ways to cut two stacks into stages of one stack each: any number of them the encoder's, of each stack as equal as can be. One stage
 * has both.
 */
export function stackCuts(encoderLayers: number, decoderLayers: number, stages: number): (readonly number[])[] {
  if (stages === 1) return [[encoderLayers + decoderLayers]];
  const first = Math.max(1, stages - decoderLayers);
  const last = Math.min(encoderLayers, stages - 1);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => {
    const ofEncoder = first + index;
    return [...firstHeavyCut(encoderLayers, ofEncoder), ...firstHeavyCut(decoderLayers, stages - ofEncoder)];
  });
}

/** As equal as can be, one more on the first stages: of the decoder, the last one has the head. */
function firstHeavyCut(layers: number, stages: number): readonly number[] {
  const each = Math.floor(layers / stages);
  return Array.from({ length: stages }, (_, stage) => each + (stage < layers - each * stages ? 1 : 0));
}

function heaviestStage(model: ModelSpec, training: SequenceLengths, cut: readonly number[]): number {
  const head = 6 * model.vocab * model.hidden * headTokens(model, training, training.sequenceLength);
  let from = 0;
  return cut.reduce((heaviest, layers, stage) => {
    const groups = layerGroups(model, from, from + layers);
    from += layers;
    const ofLayers = groups.reduce((sum, group) => sum + group.layers * stackLayerFlops(model, group.kind, training), 0);
    return Math.max(heaviest, ofLayers + (stage === cut.length - 1 ? head : 0));
  }, 0);
}

/**
 * Which layers the stages of an encoder-decoder model have: `encoder 12, 12; decoder 8, 8, 8`. Null for other models, and for one stage.
 */
export function stacksText({ model, training, layout }: Pick<PlanRequest, 'model' | 'training' | 'layout'>): Sentence | null {
  if (model.stacks === undefined || layout.pipeline === 1) return null;
  const stages: { readonly stack: string | null; readonly text: Value }[] = [];
  let from = 0;
  for (const layers of layout.stageLayers ?? stackCut(model, training, layout.pipeline)) {
    const [first, second] = layerGroups(model, from, from + layers);
    from += layers;
    const last = stages.at(-1);
    const stack = first?.kind.stack ?? '';
    const count = formatCount(first?.layers ?? 0);
    if (second !== undefined)
      stages.push({ stack: null, text: sentence`${stack} ${count} with ${second.kind.stack ?? ''} ${formatCount(second.layers)}` });
    else if (last?.stack === stack) stages[stages.length - 1] = { stack, text: sentence`${last.text}, ${count}` };
    else stages.push({ stack, text: first === undefined ? '0' : sentence`${stack} ${count}` });
  }
  return sentence`${joinClauses(stages.map(({ text }) => text))}`;
}
