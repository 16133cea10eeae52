import { fittedRates } from '../../../src/core/cluster/gpus/fitted-rates';
import { scalesByTensor } from '../../../src/core/domain/number-formats';
import type { GpuSpec } from '../../../src/core/domain/cluster';
import type { PlanRequest } from '../../../src/core/domain/request';
import { runtimeProfile } from '../../../src/core/domain/runtime';
import { fusedAttentionKernel } from '../../../src/core/time-model/rates';
import type { Prior } from './solve';

/** Logarithms of the constants as the product has them, by `GPU.name`. */
export const currentLogs: Readonly<Record<string, number>> = Object.fromEntries(
  Object.entries(fittedRates).flatMap(([gpu, rates]) =>
    Object.entries<{ readonly value: number }>(rates).map(([name, { value }]): [string, number] => [`${gpu}.${name}`, Math.log(value)]),
  ),
);

/** The rate of a GPU that a constant is a factor of: constants of one rate move a prediction alike. */
export type Rate = 'gemm' | 'narrow' | 'attention';

/** The constants that a prediction depends on, each with its rate. */
export function usedConstants({ cluster, training }: PlanRequest): readonly (readonly [key: string, rate: Rate])[] {
  const { name } = cluster.gpu;
  const gpu = /^A[18]00/.test(name) ? 'A100' : /^(?:H\d|GH200)/.test(name) ? 'H100' : name;
  const shared = /^G?B[23]00/.test(gpu) ? 'Blackwell' : gpu;
  const { gemmPrecision, fp8Recipe, attention } = training;
  const runtime = runtimeProfile(training).id;
  const format =
    gemmPrecision === 'nvfp4'
      ? `${shared}.nvfp4`
      : `${gpu}.${runtime === 'torchtitan' && gpu === 'H100' ? 'fp8Torchao' : scalesByTensor(fp8Recipe) && gpu !== 'H100' ? 'fp8Tensorwise' : 'fp8'}`;
  const kernel = attention === 'flash' ? fusedAttentionKernel(cluster, training) : null;
  const candidates: readonly (readonly [string, Rate])[] = [
    [`${gpu}.gemmEfficiency`, 'gemm'],
    [`${gpu}.${runtime}`, 'gemm'],
    ...(gemmPrecision === undefined ? [] : [[format, 'narrow'] as const]),
    ...(kernel === null ? [] : [[`${shared}.${kernel}`, 'attention'] as const]),
  ];
  return candidates.filter(([key]) => key in currentLogs);
}

/** The same request on a GPU that is `factor` times as fast at one rate. */
export function atRate(request: PlanRequest, rate: Rate, factor: number): PlanRequest {
  const { gpu } = request.cluster;
  const scaled = <T extends object>(rates: T | undefined, wanted: (name: string) => boolean): T =>
    Object.fromEntries(
      Object.entries(rates ?? {}).map(([name, value]) => [name, wanted(name) ? factor * (value as number) : (value as number)]),
    ) as T;
  const changed: Partial<GpuSpec> =
    rate === 'gemm'
      ? { gemmEfficiency: factor * gpu.gemmEfficiency }
      : rate === 'narrow'
        ? { gemmFactors: scaled(gpu.gemmFactors, (name) => /^(?:fp8|nvfp4)/.test(name)) }
        : {
            attentionEfficiency: scaled(gpu.attentionEfficiency, () => true),
            attentionByBenchmark: scaled(gpu.attentionByBenchmark, () => true),
          };
  return { ...request, cluster: { ...request.cluster, gpu: { ...gpu, ...changed } } };
}

/** Fractions of the peak that the best GEMM of any size reaches (stas00/ml-engineering at b9e29720, compute/accelerator/README.md). */
const best = { A100: 0.869, H100: 0.803, H100fp8: 0.709 } as const;

const about = (of: Prior['of'], value: number, spread: number): Prior => ({ of, mean: Math.log(value), spread });

/** A constant is `value`, or `value` times another, give or take `spread`. */
const one = (key: string, value: number, spread: number): Prior => about({ [key]: 1 }, value, spread);
const ratio = (key: string, to: string, value: number, spread: number): Prior => about({ [key]: 1, [to]: -1 }, value, spread);

/**
 * Kernels that no measured run uses, by what benchmarks of kernels give compared with one that runs use: causal sequences of 8,192 tokens,
 * heads of 128, bf16, TFLOP/s of forward and backward together from those of each, backward with 2.5 times the FLOPs.
 */
const kernelRatios = {
  // an A100 PCIe: cuDNN 9.27 145.6, FlashAttention 2 183.6 (NVIDIA/cudnn-frontend at 816ea457, benchmark/attention_training/results)
  'A100.cudnn': { to: 'A100.flash2', ratio: 145.6 / 183.6, spread: 0.08 },
  // forward causal, backward not causal, by the figures of arXiv 2407.08608: FlashAttention 3 602 and 559, cuDNN 529 and 518
  'H100.flash3': { to: 'H100.cudnn', ratio: 571 / 521, spread: 0.1 },
  // B200 351 and 1,001 (cudnn-frontend at cb560b92), GB200 357 and 1,299 (d48a60eb), GB300 373 and 1,213 (bb37575d): mean ratio
  'Blackwell.flash2': { to: 'Blackwell.cudnn', ratio: Math.cbrt((351 / 1001) * (357 / 1299) * (373 / 1213)), spread: 0.12 },
} as const;

const racks = ['B200', 'B300', 'GB200', 'GB300'] as const;

/**
 * What is known without the runs (docs/model/time.md, Fit): the best GEMMs that others measured carry over from A100 to H100 and from bf16
 * to FP8; FlashAttention 3 and cuDNN take 1.5 to 2 times the speed of FlashAttention 2 (arXiv 2407.08608); GPUs of one generation reach
 * about the same fractions, runtimes that issue PyTorch's own kernels somewhat less than Transformer Engine.
 */
export const priors: readonly Prior[] = [
  one('A100.gemmEfficiency', 0.958, 0.1),
  ratio('H100.gemmEfficiency', 'A100.gemmEfficiency', best.H100 / best.A100, 0.04),
  one('H100.fp8', best.H100fp8 / best.H100, 0.04),
  ratio('H100.fp8Torchao', 'H100.fp8', 1, 0.08),
  one('A100.deepspeed', 0.9, 0.15),
  one('H100.fsdp1', 0.9, 0.15),
  ratio('H100.torchtitan', 'H100.fsdp1', 1, 0.1),
  one('A100.flash1', 0.35, 0.3),
  one('A100.flash2', 0.5, 0.2),
  one('H100.flash2', 0.25, 0.4),
  ratio('H100.cudnn', 'H100.flash2', 1.72, 0.08),
  one('Blackwell.cudnn', 0.4, 0.3),
  ...Object.entries(kernelRatios).map(([key, { to, ratio: value, spread }]) => ratio(key, to, value, spread)),
  ratio('B200.gemmEfficiency', 'H100.gemmEfficiency', 1, 0.5),
  ratio('GB200.gemmEfficiency', 'B200.gemmEfficiency', 1, 0.4),
  ratio('B300.gemmEfficiency', 'B200.gemmEfficiency', 1, 0.1),
  ratio('GB300.gemmEfficiency', 'GB200.gemmEfficiency', 1, 0.05),
  ratio('GB200.fp8', 'H100.fp8', 1, 0.1),
  about({ 'B200.gemmEfficiency': 1, 'B200.fp8': 1, 'GB200.gemmEfficiency': -1, 'GB200.fp8': -1 }, 1, 0.15),
  ratio('B300.fp8', 'B200.fp8', 1.1, 0.1),
  ratio('GB300.fp8', 'GB200.fp8', 1.1, 0.15),
  ...racks.map((gpu) => ratio(`${gpu}.fp8Tensorwise`, `${gpu}.fp8`, 1.05, 0.06)),
  one('Blackwell.nvfp4', 0.8, 0.3),
];
