import type { ModelSpec } from '../domain/model';
import type { Layout, TrainingSpec } from '../domain/request';

export interface MemoryInputs {
  readonly model: ModelSpec;
  readonly training: TrainingSpec;
  readonly layout: Layout;
}
