import { runtimeProfile, type Runtime } from './runtime';

/** Number formats that only GEMMs are computed in, what is around them in another precision. */
export const narrowFormats = ['fp8', 'nvfp4'] as const;
export type NarrowFormat = (typeof narrowFormats)[number];

/**
 * How FP8 inputs are scaled: by the largest value of earlier steps, of the tensor, of each row, of each 32 elements (MXFP8), of blocks of
 * 128 (DeepSeek-V3).
 */
export const fp8Recipes = ['delayed', 'tensorwise', 'rowwise', 'mxfp8', 'blockwise'] as const;
export type Fp8Recipe = (typeof fp8Recipes)[number];

/** Kinds of FP8 values: of forward and backward alike, or with gradients in E5M2. */
export const fp8Formats = ['e4m3', 'hybrid'] as const;
export type Fp8Format = (typeof fp8Formats)[number];

/** The format where no file gives one: as the recipes of Transformer Engine have it by default (`transformer_engine/common/recipe`). */
export function usualFp8Format(recipe: Fp8Recipe | undefined): Fp8Format {
  return recipe === 'mxfp8' || recipe === 'blockwise' ? 'e4m3' : 'hybrid';
}

/** Whether FP8 inputs have one scale a tensor: as the recipe sets it, and by default in Transformer Engine and torchao. */
export function scalesByTensor(recipe: Fp8Recipe = 'tensorwise'): boolean {
  return recipe === 'tensorwise' || recipe === 'delayed';
}

/**
 * Bytes of an element of a layer's inputs in each, scales of its blocks included: 16 elements of NVFP4 share one of a byte, 32 of MXFP8
 * (OCP microscaling formats 1.0), 128 of FP8 by blocks one of four bytes (arXiv 2412.19437, 3.3.2).
 */
export function narrowBytes(format: NarrowFormat, recipe?: Fp8Recipe): number {
  if (format === 'nvfp4') return 0.5 + 1 / 16;
  return recipe === 'mxfp8' || recipe === 'blockwise' ? 1 + 1 / 32 : 1;
}

/** The same of an element of a weight: FP8 by blocks has one scale for 128 x 128 of them (arXiv 2412.19437, 3.3.2). */
export function narrowWeightBytes(format: NarrowFormat, recipe?: Fp8Recipe): number {
  return format === 'fp8' && recipe === 'blockwise' ? 1 + 4 / 128 ** 2 : narrowBytes(format, recipe);
}

/** What decides in which formats a run computes and keeps. */
interface Formats {
  readonly precision: 'fp32' | 'fp16' | 'bf16';
  readonly gemmPrecision?: NarrowFormat;
  readonly fp8Recipe?: Fp8Recipe;
  readonly runtime?: Runtime;
}

/** Bytes of one element in the training precision. */
export function elementBytes({ precision }: Pick<Formats, 'precision'>): number {
  return precision === 'fp32' ? 4 : 2;
}

/**
 * Bytes of one element of the input of a layer's product as it is gathered and kept for backward (along columns only): in the narrow format
 * where there is one and the runtime keeps it.
 */
export function inputBytes(training: Formats): number {
  const { gemmPrecision, fp8Recipe } = training;
  return gemmPrecision !== undefined && runtimeProfile(training).keepsNarrow
    ? narrowBytes(gemmPrecision, fp8Recipe)
    : elementBytes(training);
}
