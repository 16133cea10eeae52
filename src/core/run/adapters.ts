import { ExpectedError } from '../errors';
import { sentence, type Sentence } from '../sentence';
import type { Located, Place } from '../domain/located';

/**
 * Adapters as a launcher's file gives them. What is absent is left to the library that makes them. `alpha` is not read: it scales, and
 * changes neither time nor memory.
 */
export interface GivenAdapters {
  /** The setting by which the run trains only adapters, and its name as written. */
  readonly place: Place;
  readonly name: string;
  /** What is trained instead of LoRA, which nobody prices here. */
  readonly unlike?: string;
  readonly rank?: Located<number>;
  /** Modules by their names in the library. */
  readonly targets?: Located<readonly string[]>;
  /** Share of the inputs that is dropped. */
  readonly dropout?: Located<number>;
  readonly baseBits?: Located<4 | 8>;
  readonly doubleQuantised?: boolean;
  /** DoRA. */
  readonly decomposed?: boolean;
  /** DoRA multiplies what a dropout leaves with the frozen matrix, too, as in peft and Megatron-Bridge; absent: not so (torchtune). */
  readonly frozenTwice?: boolean;
  /** AdaLoRA. */
  readonly adaptive?: boolean;
  /** Whether all experts of a rank share one adapter. */
  readonly sharedByExperts?: boolean;
  /** Modules that are trained whole. */
  readonly saved?: readonly string[];
  /** What holds for what the file leaves open; absent: what peft takes. */
  readonly defaults?: AdapterDefaults;
}

/** What a launcher takes for what its file leaves open. */
export interface AdapterDefaults {
  readonly rank: number;
  /** Null: peft's own for the model's type. */
  readonly targets: readonly string[] | null;
  readonly dropout?: number;
  /**
   * The adapted modules are those of Megatron Core (Megatron-Bridge, NeMo): the experts of a rank share one adapter unless the file sets
   * otherwise, and latent attention has no `linear_qkv`.
   */
  readonly ofCore?: boolean;
  readonly reason: Sentence;
}

/** Word by which libraries name all linear layers but the head. */
export const allLinear = 'all-linear';

/** Modules of a Megatron Core layer that are linear. */
export const coreModules = ['linear_qkv', 'linear_proj', 'linear_fc1', 'linear_fc2'] as const;

/** The error for adapters that are not planned; `what` names what they are combined with or applied to; absent where they are not LoRA. */
export function adaptersNotPlanned({ name, place }: GivenAdapters, what?: Sentence): ExpectedError {
  const message =
    what === undefined
      ? sentence`The run trains adapters (${name}), which is not planned`
      : sentence`The run trains adapters (${name}) ${what}, which is not planned`;
  const remedy = sentence`take the setting out of a copy to plan the training of all weights`;
  return new ExpectedError('model-not-planned', message, remedy, place);
}
