import type { ModelSpec } from '../spec/model';
import type { Layout, TrainingSpec } from '../spec/request';

export interface MemoryInputs {
  readonly model: ModelSpec;
  readonly training: TrainingSpec;
  readonly layout: Layout;
}
