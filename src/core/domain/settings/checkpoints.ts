import { sentence } from '../../sentence';
import { flag, text } from './rules';
import type { SettingTable } from './setting';

/** Which checkpoint a run loads, and which parts of it: decides whether another layout can load it. */
export const checkpoints = {
  loadCheckpoint: {
    read: flag,
    meaning: sentence`The run starts from a checkpoint; whether it loads at another layout depends on its format.`,
  },
  /** As each launcher names it. */
  checkpointFormat: {
    read: text,
    meaning: sentence`The format of checkpoints: decides which changes of the layout they survive.`,
  },
  /** Absent: yes. */
  loadOptimizerState: {
    read: flag,
    meaning: sentence`Whether the optimizer state of the checkpoint is loaded with the weights.`,
  },
  /** TorchTitan; absent: yes. */
  loadDataPosition: {
    read: flag,
    meaning: sentence`Whether the run continues in the data where the checkpoint was written.`,
  },
  /** Absent: no. */
  reshardableOptimizer: {
    read: flag,
    meaning: sentence`Whether the optimizer state is written so that it loads at other tensor and pipeline sizes.`,
  },
} as const satisfies SettingTable;
