/** What is known of a data set. */
interface DatasetSizes {
  /** Samples of an epoch, and of the set that is evaluated on. */
  readonly training: number;
  readonly evaluation: number;
  /** Classes of images; null for texts, whose heads differ by task. */
  readonly classes: number | null;
}

/** Data sets by name, with the sizes that their makers give. */
export const datasets = {
  'cifar-10': { training: 50_000, evaluation: 10_000, classes: 10 },
  'cifar-100': { training: 50_000, evaluation: 10_000, classes: 100 },
  'imagenet-1k': { training: 1_281_167, evaluation: 50_000, classes: 1000 },
  'places-365': { training: 1_803_460, evaluation: 36_500, classes: 365 },
  'food-101': { training: 75_750, evaluation: 25_250, classes: 101 },
  'fashion-mnist': { training: 60_000, evaluation: 10_000, classes: 10 },
  mnist: { training: 60_000, evaluation: 10_000, classes: 10 },
  svhn: { training: 73_257, evaluation: 26_032, classes: 10 },
  'squad-1.1': { training: 87_599, evaluation: 10_570, classes: null },
  'sst-2': { training: 67_349, evaluation: 872, classes: 2 },
} as const satisfies Readonly<Record<string, DatasetSizes>>;

export type DatasetName = keyof typeof datasets;

export const datasetNames = Object.keys(datasets) as DatasetName[];
