import { presetComputeCapability } from '../../cluster/presets';
import type { Finding, Fix } from '../../findings';
import { formatNumber } from '../../format';
import { isLauncher, launcherTraits } from '../../launchers/registry';
import type { Run } from '../../run/run';
import type { Plan } from '../../planner/plan';
import { sentence, upperFirst, type Sentence } from '../../sentence';
import { otherPrecisionPercent } from '../../domain/profile';
import { lacksBf16 } from '../../domain/cluster';
import type { Fp8Recipe, NarrowFormat } from '../../domain/number-formats';
import type { Runtime } from '../../domain/runtime';
import { findingAt, settingsEdits } from '../settings';
import { isGpuGiven } from './memory-findings';

/** Which NVIDIA GPUs compute a number format, and what Transformer Engine reports on the others. */
interface Need {
  readonly name: string;
  /** The setting that asks for it. */
  readonly key: 'training.gemmPrecision' | 'training.fp8Recipe';
  readonly least: ComputeCapability;
  /** The first that does not compute it again. */
  readonly below?: ComputeCapability;
}

interface ComputeCapability {
  readonly capability: string;
  /** The runtime's error below it. */
  readonly message: string;
}

const required = (capability: string, format: string): ComputeCapability => ({
  capability,
  message: `Device compute capability ${capability} or higher required for ${format} execution.`,
});

const fp8: Need = { name: 'FP8', key: 'training.gemmPrecision', least: required('8.9', 'FP8') };
const nvfp4: Need = { name: 'NVFP4', key: 'training.gemmPrecision', least: required('10.0', 'NVFP4') };
const byRecipe: Readonly<Partial<Record<Fp8Recipe, Need>>> = {
  mxfp8: {
    name: 'MXFP8',
    key: 'training.fp8Recipe',
    least: required('10.0', 'MXFP8'),
    below: { capability: '12.0', message: 'MXFP8 (for all gemm layouts) is not supported on 12.0+ architectures yet.' },
  },
  blockwise: {
    name: 'FP8 scaled by blocks',
    key: 'training.fp8Recipe',
    least: { capability: '9.0', message: 'FP8 block scaled GEMM requires compute capability 9.0 or higher and CUDA >= 12.9.' },
  },
};

/**
 * The finding that a GPU of a plan does not compute its number format: an error where the runtime stops, a warning where it may emulate the
 * format or is not known. A file that names no GPU is not to blame for the one that is assumed: it gets information only. GPUs of no known
 * compute capability are not judged.
 * Source: Transformer Engine at d0067d0d, transformer_engine/pytorch/quantization.py 150 to 185 and 759 to 769; TorchTitan at b5bcd76c,
 * torchtitan/components/quantization.
 */
export function formatFindings(run: Run, plan: Plan | null): Finding[] {
  return [...slowPrecision(run, plan), ...missingFormat(run, plan), ...otherPrecision(run, plan)];
}

/**
 * @finding profile-precision
 * The plan is in bf16, and the profile that gives its times was measured in fp16. Elements have the same size, and the GPU multiplies both
 * at the same rate. So the profile is used, and the error bar of the step is 5 % wider. A profile in fp32 is refused.
 * @example `"precision": "bf16"` with a profile of `terapipe profile --set training.precision=fp16`. "The plan is in bf16, and its profile
 * was measured in fp16: its error bar is 5 % wider"
 * @source The width is assumed (`otherPrecisionPercent` in `src/core/domain/profile.ts`); the presets in `src/core/cluster/gpus` have one
 * peak for both
 * @ignore the step only has to be known that well.
 */
function otherPrecision(run: Run, plan: Plan | null): Finding[] {
  const measured = plan?.request.profile?.profile.precision;
  if (plan === null || measured === undefined) return [];
  const { precision } = plan.request.training;
  if (measured === precision) return [];
  const wider = sentence`its error bar is ${otherPrecisionPercent} % wider`;
  const message = sentence`The plan is in ${precision}, and its profile was measured in ${measured}: ${wider}`;
  return [findingAt(run, 'training.precision', 'profile-precision', 'information', { message, remedy: sentence`profile in ${precision}` })];
}

/**
 * bf16 that the file asks for on a GPU of a plan without bf16 tensor cores. A terapipe.json or model config that names the GPU itself has
 * the rule `precision-slow`.
 */
function slowPrecision(run: Run, plan: Plan | null): Finding[] {
  const isOfRule = !isLauncher(run.format) && (run.gpu !== undefined || run.groups !== undefined);
  if (plan === null || isOfRule || run.training.precision?.value !== 'bf16') return [];
  const { cluster } = plan.request;
  const slow = (cluster.groups ?? [cluster]).find(({ gpu }) => lacksBf16(gpu))?.gpu;
  if (slow === undefined) return [];
  const { bf16, fp16 } = slow.peakTflops;
  const message = sentence`bf16 runs at ${formatNumber(bf16)} TFLOP/s on ${slow.name}, fp16 at ${formatNumber(fp16)}`;
  const remedy = sentence`train in fp16, or plan for other GPUs`;
  return [findingAt(run, 'training.precision', 'precision-slow', 'warning', { message, remedy })];
}

/**
 * @finding gpu-number-format
 * The layers are multiplied in a number format that the GPU does not compute: FP8 needs a compute capability of 8.9 (Ada, Hopper), FP8
 * scaled by blocks 9.0, MXFP8 and NVFP4 10.0 (Blackwell). An error where the runtime stops, a warning where it may emulate the format or no
 * file names the runtime; information only where no file names the GPU. GPUs without a preset and those of AMD are not judged.
 * @example `"gemmPrecision": "fp8", "fp8Recipe": "mxfp8"` on H100. "MXFP8 does not run on H100-80GB, whose compute capability is 9.0:
 * "Device compute capability 10.0 or higher required for MXFP8 execution.""
 * @source Transformer Engine at d0067d0d, `transformer_engine/pytorch/quantization.py`, lines 154, 162, 168, 175 and 184, asserted in lines
 * 760 to 769; TorchTitan, `torchtitan/components/quantization`, `float8.py` line 92, `mx.py` line 71, `nvfp4.py` line 292
 * @ignore the run is started on other GPUs than the files name.
 */
function missingFormat(run: Run, plan: Plan | null): Finding[] {
  // as asked for: a plan leaves out what its GPU has no rate for
  const { gemmPrecision, fp8Recipe } = run.training;
  if (plan === null || gemmPrecision?.value === undefined) return [];
  const { training, cluster } = plan.request;
  const need = formatNeeds(gemmPrecision.value, fp8Recipe?.value);
  const runtime = training.runtime ?? (isLauncher(run.format) ? launcherTraits(run.format).runtime : undefined);
  for (const { gpu } of cluster.groups ?? [cluster]) {
    const capability = presetComputeCapability(gpu.name);
    const missed = capability === null ? null : missedBy(capability, need, runtime);
    if (capability === null || missed === null) continue;
    const code = 'gpu-number-format';
    if (!isGpuGiven(run)) {
      const message = sentence`${need.name} does not run on ${gpu.name}, which is assumed: its compute capability is ${capability}`;
      return [findingAt(run, need.key, code, 'information', { message, remedy: sentence`plan for your GPU (cluster.gpu)` })];
    }
    const what = sentence`${need.name} does not run on ${gpu.name}, whose compute capability is ${capability}`;
    const message = runtime === 'megatron' ? sentence`${what}: "${missed.message}"` : what;
    const { remedy, sets } = otherFormat(capability);
    const edits = settingsEdits(run, sets);
    const fixes: Fix[] = edits === null ? [] : [{ title: upperFirst(remedy), edits, preferred: true }];
    const severity = stops(runtime, need) ? 'error' : 'warning';
    return [findingAt(run, need.key, code, severity, { message, remedy: sentence`${remedy}, or plan for other GPUs` }, fixes)];
  }
  return [];
}

function formatNeeds(format: NarrowFormat, recipe: Fp8Recipe | undefined): Need {
  return format === 'nvfp4' ? nvfp4 : (byRecipe[recipe ?? 'tensorwise'] ?? fp8);
}

/** The bound that a GPU misses; null: none. TorchTitan asks only for the least. */
function missedBy(capability: string, { least, below }: Need, runtime: Runtime | undefined): ComputeCapability | null {
  if (Number(capability) < Number(least.capability)) return least;
  return below !== undefined && runtime !== 'torchtitan' && Number(capability) >= Number(below.capability) ? below : null;
}

/** TorchTitan's `float8.emulate` runs FP8 on any GPU; some libraries that Accelerate takes for FP8 do, too. */
function stops(runtime: Runtime | undefined, need: Need): boolean {
  return runtime === 'megatron' || (runtime === 'torchtitan' && need !== fp8);
}

/** What a GPU computes instead, as settings of terapipe.json. */
function otherFormat(capability: string): { readonly remedy: Sentence; readonly sets: readonly (readonly [string, string | null])[] } {
  const hasFp8 = Number(capability) >= Number(fp8.least.capability);
  return {
    remedy: hasFp8 ? sentence`multiply in FP8 with a scale for each tensor` : sentence`multiply in bf16 or fp16`,
    sets: [
      ['training.gemmPrecision', hasFp8 ? 'fp8' : null],
      ['training.fp8Recipe', hasFp8 ? 'tensorwise' : null],
    ],
  };
}
