import type { AdapterDefaults } from '../../run/adapters';
import { sentence } from '../../sentence';

/** The adapters of MLPerf Training's benchmark of LoRA on Llama 2 70B, which its rules fix. */
export const benchmarkAdapters: AdapterDefaults = {
  rank: 16,
  targets: ['linear_qkv', 'linear_proj'],
  dropout: 0.1,
  ofCore: true,
  reason: sentence`as the benchmark's rules say`,
};

/** Whether a file is in a submission to that benchmark: its folder has the benchmark's name. */
export function isLoraBenchmark(file: string): boolean {
  return /(?:^|[/\\])llama2_70b_lora[/\\]/.test(file);
}
