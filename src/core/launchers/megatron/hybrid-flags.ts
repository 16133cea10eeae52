import { sublayers } from '../../model/mixers';
import type { LayerKind, ModelSpec } from '../../domain/model';
import { sentence } from '../../sentence';
import { layerList, wordsIf, when, type ModelPart } from './model-part';

/**
 * The pattern of a model whose layers are Mamba-2, attention or a feed-forward network in turn, as Megatron-LM builds them; null for
 * others.
 */
export function hybridLetters({ state, layers, layerKinds = [] }: ModelSpec): string | null {
  if (state?.kind !== 'mamba2' || state.convolution !== 4 || !state.convolutionBias || state.projectionBias) return null;
  if (layerKinds.length !== layers || layerKinds.some((kind) => sublayers(kind) !== 1 || kind.mixer === 'both')) return null;
  const layerLetter = ({ mixer, feedForward }: LayerKind): string =>
    mixer === 'state' ? 'M' : mixer !== 'none' ? '*' : feedForward === 'experts' ? 'E' : '-';
  return layerKinds.map(layerLetter).join('');
}

/** Whether its layers are attention or Gated DeltaNet, each with a feed-forward network: `--experimental-attention-variant`. */
export function isDeltaHybrid({ state, layerKinds = [] }: ModelSpec): boolean {
  return (
    state?.kind === 'gated-delta-net' &&
    layerKinds.every(({ mixer = 'attention', feedForward }) => feedForward !== 'none' && (mixer === 'attention' || mixer === 'state'))
  );
}

/** Layers with a state among layers of attention. @param isPatterned another setting gives the kinds of the layers. */
export function stateFlags(model: ModelSpec, isPatterned: boolean): readonly string[] {
  const { state } = model;
  const letters = hybridLetters(model);
  if (state !== undefined && letters !== null)
    return [
      ...when(!isPatterned, `--hybrid-override-pattern "${letters}"`),
      '--is-hybrid-model',
      '--spec megatron.core.models.mamba.mamba_layer_specs mamba_stack_spec',
      `--mamba-num-heads ${state.heads}`,
      `--mamba-head-dim ${state.headDim}`,
      `--mamba-state-dim ${state.stateDim}`,
      `--mamba-num-groups ${state.groups}`,
    ];
  if (state === undefined || !isDeltaHybrid(model)) return [];
  return [
    '--experimental-attention-variant gated_delta_net',
    `--linear-attention-freq ${layerList((model.layerKinds ?? []).map(({ mixer }) => mixer === 'state'))}`,
    `--linear-num-value-heads ${state.heads}`,
    `--linear-value-head-dim ${state.headDim}`,
    `--linear-num-key-heads ${state.groups}`,
    `--linear-key-head-dim ${state.stateDim}`,
    `--linear-conv-kernel-dim ${state.convolution}`,
  ];
}

/** Layers with a state that no flags describe. */
export const statePart: ModelPart = {
  fields: ['state', 'layerKinds'],
  lacks: (model) =>
    wordsIf(
      model.state !== undefined && hybridLetters(model) === null && !isDeltaHybrid(model),
      sentence`its SSM or linear-attention layers`,
    ),
};
