import * as v from 'valibot';
import { sentence } from '../../sentence';
import { recomputeModes, recomputeModules } from '../recompute';
import { boolean, count, flag, integer, list, choiceRule, text, texts } from './rules';
import { mostLayers, type SettingTable } from './setting';

/** What is computed again, and what waits on the host. */
export const memory = {
  /** As each launcher names its modes. */
  recomputeGranularity: { read: text, sets: ['recompute'] },
  recompute: {
    key: choiceRule(recomputeModes),
    assumed: true,
    title: sentence`recompute`,
    compared: {},
    meaning: sentence`Activation recomputation: full keeps only layer inputs and costs about a third more time.`,
    fieldNames: ['recomputegranularity', 'recomputation', 'activationcheckpointing', 'gradientcheckpointing'],
  },
  recomputeMethod: {
    read: text,
    meaning: sentence`Which layers are recomputed: equal groups over the whole stage (uniform) or its first ones (block).`,
  },
  /**
   * Of a plan, under `full`: of each chunk, which is a stage without virtual ones (Megatron-LM's block method counts in its
   * `TransformerBlock`, one for each virtual stage); absent: all. Megatron's uniform method counts the layers of a group.
   */
  recomputeLayers: {
    read: count(mostLayers),
    key: integer(0, mostLayers),
    meaning: sentence`Layers of each chunk that are recomputed; by Megatron's uniform method, layers of a group.`,
  },
  /** Under `full` (Megatron-LM's uniform method with more than one layer); absent: 1. */
  recomputeGroup: {
    key: integer(1, 10_000),
    meaning: sentence`Layers per recompute group: only its input is kept; backward holds the activations of all of them.`,
  },
  /** Under `selective`; absent: the attention core. */
  recomputeModules: {
    read: texts,
    key: list(v.picklist(recomputeModules), 1, 16, `a list of ${recomputeModules.join(', ')}`),
    meaning: sentence`Modules of a layer that are recomputed in backward.`,
  },
  /** TorchTitan's `selective_ac_option`. */
  recomputeOption: {
    read: text,
    sets: ['recompute'],
    meaning: sentence`What is recomputed: single operations (op), or every n-th layer.`,
  },
  /** Absent: 2. */
  recomputeEvery: { key: integer(1, 10_000), meaning: sentence`With recompute "every": every n-th layer is recomputed.` },
  /** DeepSpeed. */
  activationCheckpointing: {
    read: flag,
    meaning: sentence`Settings for recomputing activations; whether that happens is up to the code of the model.`,
  },
  /** Megatron: of whole layers. */
  cpuOffloading: { read: flag, meaning: sentence`Activations are kept in host memory: less on the GPU, more on its link.` },
  /**
   * Of a plan: of each chunk, its first ones (Megatron-LM's `cpu_offloading_num_layers`, of Transformer Engine; DeepSpeed's
   * `cpu_checkpointing`, of all that recompute keeps); absent: none.
   */
  activationOffloadLayers: {
    read: count(mostLayers),
    key: integer(0, mostLayers),
    title: sentence`layers with activations on the host`,
    compared: { silent: 0 },
    meaning: sentence`Layers whose activations wait in host memory until backward: less GPU memory, more transfers.`,
  },
  /** DeepSpeed. */
  cpuCheckpointing: { read: flag, meaning: sentence`Whether the inputs that recompute keeps go to host memory.` },
  /** Of a launcher: the device, `cpu` or `nvme` (DeepSpeed's ZeRO, TorchTitan's FSDP); absent from a plan: on the GPU. */
  offloadOptimizer: {
    read: text,
    key: boolean,
    title: sentence`optimizer on the host`,
    compared: { silent: false },
    meaning: sentence`Where the optimizer and its state are offloaded to: frees GPU memory, makes a step longer.`,
  },
  /** Absent: host memory. */
  offloadDevice: {
    key: choiceRule(['cpu', 'nvme']),
    meaning: sentence`Where an offloaded optimizer is kept: host memory, or its NVMe.`,
  },
  /** Of an optimizer on NVMe (DeepSpeed's `buffer_count`); absent: 4. */
  offloadBuffers: {
    type: integer(1, 1024),
    meaning: sentence`Buffers on the host for an optimizer on NVMe, each of at most optimizerSubGroup elements in fp32.`,
  },
  /** Elements (DeepSpeed's `sub_group_size`); absent: 10^9. */
  optimizerSubGroup: {
    type: integer(1, 1e12),
    meaning: sentence`Parameters that DeepSpeed's stage 3 updates at a time, which its step copies or swaps.`,
  },
  /** PyTorch's `expandable_segments`; absent: as the runtime's launcher sets it. Limits under TorchTitan do not depend on it. */
  expandableSegments: {
    type: boolean,
    meaning: sentence`PyTorch's allocator grows its segments (expandable_segments): it loses little to fragmentation.`,
  },
  /** The device, as of the optimizer. */
  offloadParameters: { read: text, meaning: sentence`Where weights are offloaded to. They cross the GPU's link for every layer.` },
} as const satisfies SettingTable;
