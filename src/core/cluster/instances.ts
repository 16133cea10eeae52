import type { InstanceRecord } from './instance-record';
import { p4d_24xlarge } from './instances/p4d-24xlarge';
import { p4de_24xlarge } from './instances/p4de-24xlarge';
import { p5_48xlarge } from './instances/p5-48xlarge';
import { p5en_48xlarge } from './instances/p5en-48xlarge';
import { p6_b200_48xlarge } from './instances/p6-b200-48xlarge';
import { a3_highgpu_8g } from './instances/a3-highgpu-8g';
import { a3_megagpu_8g } from './instances/a3-megagpu-8g';
import { a3_ultragpu_8g } from './instances/a3-ultragpu-8g';
import { a4_highgpu_8g } from './instances/a4-highgpu-8g';
import { nd96isr_h100_v5 } from './instances/nd96isr-h100-v5';
import { nd96isr_mi300x_v5 } from './instances/nd96isr-mi300x-v5';

/**
 * Every machine type of a cloud that `cluster.instance` may name. Schema and documents are written from this list: `npm run docs --
 * --write`.
 */
export const instances = {
  'p4d.24xlarge': p4d_24xlarge,
  'p4de.24xlarge': p4de_24xlarge,
  'p5.48xlarge': p5_48xlarge,
  'p5en.48xlarge': p5en_48xlarge,
  'p6-b200.48xlarge': p6_b200_48xlarge,
  'a3-highgpu-8g': a3_highgpu_8g,
  'a3-megagpu-8g': a3_megagpu_8g,
  'a3-ultragpu-8g': a3_ultragpu_8g,
  'a4-highgpu-8g': a4_highgpu_8g,
  ND96isr_H100_v5: nd96isr_h100_v5,
  ND96isr_MI300X_v5: nd96isr_mi300x_v5,
} as const satisfies Readonly<Record<string, InstanceRecord>>;

export type InstanceName = keyof typeof instances;
export const instanceNames = Object.keys(instances) as readonly InstanceName[];
