import type { Finding } from '../../findings';
import { sentence, type Sentence } from '../../sentence';
import type { LocatedFlag } from '../tables/located-flag';
import type { LeftOutFlags } from './unknown-flags';

const onHost = sentence`activations on the host`;
const inFp8 = sentence`attention in FP8`;
const sharded = sentence`weights and gradients sharded`;
const otherRecompute = sentence`recompute of anything but whole layers`;
const overlappedExchange = sentence`expert all-to-all overlapped with compute`;

/** Known flags of Megatron-LM and its forks that change time or memory, and are not planned: what they do. */
const leftOut: ReadonlyMap<string, Sentence> = new Map([
  ['fp8-dot-product-attention', inFp8],
  ['fp8-multi-head-attention', inFp8],
  ['first-last-layers-bf16', sentence`first and last layers outside FP8`],
  ['fine-grained-activation-offloading', onHost],
  ['adaptive-memory-optimization', onHost],
  ['swap-attention', onHost],
  ['swap-optimizer', sentence`optimizer state on the host`],
  ['distribute-saved-activations', sentence`checkpointed activations split over tensor-parallel ranks`],
  ['recompute-activation-function', otherRecompute],
  ['recompute-norm', otherRecompute],
  ['recompute-in-advance', otherRecompute],
  ['enable-recompute-layers-per-pp-rank', otherRecompute],
  ['moe-layer-recompute', otherRecompute],
  ['moe-zero-memory', sentence`activations of experts recomputed or on the host`],
  ['moe-fb-overlap', sentence`overlapping passes of two micro-batches`],
  ['moe-alltoall-overlap-comm', overlappedExchange],
  ['moe-allgather-overlap-comm', overlappedExchange],
  ['use-megatron-fsdp', sharded],
  ['use-custom-fsdp', sharded],
  ['use-torch-fsdp2', sharded],
]);

/**
 * The flags of a program that change time or memory and that a plan leaves out, each with what it does.
 * @param flags of the program itself, by `flagKey`.
 *
 * @finding flag-left-out
 * A flag of a script, known to Megatron-LM or a fork of it, that changes time or memory and that is not planned yet, such as
 * `--moe-fb-overlap`. The plan leaves it out, and its error bar is at least 35 %.
 * @example `--swap-optimizer` in a script of MindSpeed-LLM. "--swap-optimizer is left out of the plan: optimizer state on the host"
 * @source The arguments of Megatron-LM at d98e8a64 and of MindSpeed at 028de58c.
 * @ignore you know what the flag gives in your run.
 */
export function leftOutFlags(flags: ReadonlyMap<string, LocatedFlag>): LeftOutFlags {
  const found = [...flags].flatMap(([key, flag]) => {
    const what = leftOut.get(key);
    return what === undefined ? [] : [{ ...flag, what }];
  });
  return {
    names: found.map(({ name }) => name),
    remarks: found.map(({ name, place, what }): Finding => ({
      code: 'flag-left-out',
      severity: 'information',
      place,
      message: sentence`${name} is left out of the plan: ${what}`,
      remedy: sentence`measure a step and calibrate with it (--measured), or plan without the flag`,
      fixes: [],
    })),
  };
}
