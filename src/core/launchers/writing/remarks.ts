import { sentence, type Sentence } from '../../sentence';

/** A remark about exported settings, for people. */
export interface Remark {
  readonly what: Sentence;
  readonly reason: Sentence;
  /** Set by whoever starts the file: on how many nodes and GPUs. */
  readonly isOfStart?: true;
  /** It is written, and whoever starts the file may give another value, or did so before. */
  readonly isInput?: true;
  /** The reason is a whole sentence, which names what is left out. */
  readonly isWhole?: true;
  /** The file computes something else than the plan's model. */
  readonly isOtherModel?: true;
}

/** Settings of a model that a launcher's new file does not have. */
export interface ModelGap extends Pick<Remark, 'what' | 'reason'> {
  /** A warning where the config leaves the fields open, another file sets them, or nothing reads them. */
  readonly severity: RemarkSeverity;
  /** Fields of `ModelSpec`, dotted, in which the file trains another model. */
  readonly fields: readonly string[];
}

export type RemarkSeverity = 'error' | 'warning';

/** An error is that the file computes something else than the plan's model. */
export function remarkSeverity({ isOtherModel }: Remark): RemarkSeverity {
  return isOtherModel === true ? 'error' : 'warning';
}

/** Rows of the position table that no token of a run has: no operation reads them. */
const unread = ['unusedPositions', 'maxPositions'];

/** Of the training of a model, which computes the same afterwards. */
const ofTraining = ['details.hiddenDropoutShare', 'details.attentionDropoutShare'];

/** How bad it is that a launcher has other values in these fields of `ModelSpec`. */
export function fieldsSeverity(fields: readonly string[]): RemarkSeverity {
  return fields.every((field) => [...unread, ...ofTraining].includes(field)) ? 'warning' : 'error';
}

/** A remark in one line. */
export function remarkLine({ what, reason, isWhole }: Remark): Sentence {
  return isWhole === true ? reason : sentence`not written: ${what}: ${reason}`;
}
