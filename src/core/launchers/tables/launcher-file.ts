import type { Finding } from '../../findings';
import type { Place } from '../../domain/located';
import { formatPercent } from '../../format';
import { counted, listOf, sentence, type Sentence } from '../../sentence';
import { quoted } from '../../text';
import type { Facts, LauncherFile } from '../../run/facts';
import type { LauncherFormat } from '../../run/config-format';
import { factsPlace, type KeyReader } from './keys';
import type { YamlDocument } from '../../languages/yaml/document';

/** What a reader found, as the contract of launcher readers wants it. */
export function launcherFile(
  document: YamlDocument,
  format: LauncherFormat,
  facts: Facts,
  noticed: Partial<Pick<KeyReader, 'remarks' | 'placeholders'>> & { readonly also?: readonly Finding[] },
): LauncherFile {
  const { file, text } = document;
  const remarks = [...(noticed.remarks?.() ?? []), ...(noticed.also ?? []), ...replacedKeys(document)];
  const place = factsPlace(document, facts);
  return { file, format, text, place, facts, remarks, modelFiles: [], placeholders: noticed.placeholders?.() ?? [] };
}

/**
 * A warning for each key that a later one replaces without a word.
 *
 * @finding repeated-key
 * A key occurs twice in one mapping, and the loader of this launcher (PyYAML) silently takes the last one. Where a loader refuses that
 * (OmegaConf, TOML, DeepSpeed), it is the error `config-duplicate-key`.
 * @example `--ffn-hidden-size: 4096` and, below, `--ffn-hidden-size: 8192`. ""--ffn-hidden-size" appears again below, and the launcher
 * takes the last one"
 * @source PyYAML, `construct_mapping`: later keys replace earlier ones.
 * @ignore both have the same value.
 */
export function replacedKeys({ file, replaced }: YamlDocument): readonly Finding[] {
  return replaced.map(({ key, range }) => ({
    code: 'repeated-key',
    severity: 'warning',
    place: { file, range },
    message: sentence`${quoted(key)} appears again below, and the launcher takes the last one`,
    remedy: sentence`keep one of the two`,
    fixes: [],
  }));
}

/** Another model of a run of reinforcement learning, as far as its file gives where it runs. */
export interface OtherModel {
  /** What it does: `rollout`, `reference`. */
  readonly name: string;
  readonly gpus?: number | undefined;
  /** Part of the memory of these GPUs that it reserves. */
  readonly memoryShare?: number | undefined;
}

/**
 * @finding policy-alone
 * A config of reinforcement learning or fine-tuning (NeMo-RL, verl, OpenRLHF, ROLL, AReaL, prime-rl). The plan is a training step of the
 * policy on the GPUs that train; generation, log-probabilities, reference, reward and teacher models take time and memory of their own.
 * They are named with their GPUs, and with the part of the memory that they reserve, where the file gives these.
 * @example a GRPO config of NeMo-RL. "Only the policy update is planned, without generation, log-probabilities and other models"
 * @source NeMo-RL, `nemo_rl/algorithms`: a step generates, computes log-probabilities and trains.
 * @ignore you plan only the training step.
 */
export function policyOnly(place: Place, others: readonly OtherModel[] = []): Finding {
  return {
    code: 'policy-alone',
    severity: 'information',
    place,
    message:
      others.length === 0
        ? sentence`Only the policy update is planned, without generation, log-probabilities and other models`
        : sentence`Only the policy update is planned, without ${listOf(others.map(otherModel))}`,
    remedy: sentence`add their time and memory where they share the GPUs`,
    fixes: [],
  };
}

/** That a run trains no model of text: shown where the sizes would be missing. */
export function notOfText(place: Place): Finding {
  return {
    code: 'sizes-unknown',
    severity: 'information',
    place,
    message: sentence`This trains a model of images or video by diffusion, which is read but not planned`,
    remedy: sentence`name the config of a language model`,
    fixes: [],
  };
}

function otherModel({ name, gpus, memoryShare }: OtherModel): Sentence {
  const share = memoryShare === undefined ? null : sentence`${formatPercent(memoryShare)} of their memory`;
  if (gpus === undefined) return share === null ? sentence`${name}` : sentence`${name} (${share})`;
  const where = counted(gpus, 'GPU');
  return share === null ? sentence`${name} (${where})` : sentence`${name} (${where}, ${share})`;
}
