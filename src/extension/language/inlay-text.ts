import { launcherTraits } from '../../core/launchers/registry';
import type { FactName, Facts } from '../../core/run/facts';
import type { ConfigFormat } from '../../core/run/config-format';
import { formatNumber, plural } from '../../core/format';
import {
  dataParallelSize,
  equalLayersPerStage,
  microBatchesPerReplica,
  paddedVocabSize,
  parallelSize,
  virtualStagesPerGpu,
} from '../../core/launchers/layout-sizes';
import { titanTotalStages } from '../../core/launchers/torchtitan/stage-layers';
import { factsOfRun } from '../../host/sessions/run-facts';
import type { SessionState } from '../../host/sessions/session-state';
import type { Translate } from '../../core/sentence';

/** What follows from a value, to be shown behind it. */
interface InlayText {
  /** UTF-16 offset in the launcher's text. */
  readonly offset: number;
  readonly text: string;
}

type Hint = (facts: Facts, format: ConfigFormat, t: Translate) => string | null;

const replicas: Hint = (facts, format) => {
  const data = facts.data?.source.kind !== 'file' ? dataParallelSize(facts, format) : null;
  return data === null ? null : plural(data, 'replica');
};
const microBatches: Hint = (facts, format) => {
  const count = facts.microBatches?.source.kind !== 'file' ? microBatchesPerReplica(facts, format) : null;
  return count === null ? null : plural(count, 'micro-batch', 'micro-batches');
};
const paddedVocab: Hint = (facts, format, t) => {
  const padded = launcherTraits(format).padsVocabulary ? paddedVocabSize(facts, format) : null;
  return padded === null || padded === facts.vocab?.value ? null : t('padded to {0}', formatNumber(padded));
};
const virtualStages: Hint = (facts, format) => {
  const count = virtualStagesPerGpu(facts, format);
  return count === null ? null : plural(count, 'virtual stage');
};
const titanStages: Hint = (facts) => {
  const count = titanTotalStages(facts);
  return count === null ? null : plural(count, 'stage');
};
const otherStages: Hint = (facts, format, t) => {
  const [layers, pipeline] = [facts.layers?.value, parallelSize(facts, format, 'pipeline')];
  const ends = [facts.firstStageLayers?.value, facts.lastStageLayers?.value].filter((given) => given !== undefined);
  if (layers === undefined || pipeline === null || pipeline <= ends.length || facts.pipelineLayout !== undefined) return null;
  const each = (layers - ends.reduce((sum, given) => sum + given, 0)) / (pipeline - ends.length);
  return Number.isInteger(each) && each > 0 ? t('{0} on each other stage', plural(each, 'layer')) : null;
};
const layersPerStage: Hint = (facts, format, t) => {
  const each = facts.pipeline === undefined ? null : equalLayersPerStage(facts, format);
  return each === null ? null : t('{0} a stage', plural(each, 'layer'));
};

const hints: Readonly<Partial<Record<FactName, Hint>>> = {
  tensor: replicas,
  pipeline: replicas,
  vocab: paddedVocab,
  microBatch: microBatches,
  globalBatch: microBatches,
  localBatch: microBatches,
  layers: layersPerStage,
  layersPerStage: titanStages,
  layersPerVirtualStage: virtualStages,
  firstStageLayers: otherStages,
  lastStageLayers: otherStages,
};

/**
 * What follows from the values of a launcher, in the order of the text. None for other files, and while the text is newer than what was
 * read.
 */
export function inlayTexts(state: SessionState, file: string, text: string, t: Translate): readonly InlayText[] {
  const { launcher } = state;
  if (launcher?.file !== file || state.texts.get(file) !== text) return [];
  const facts = factsOfRun(state);
  const found = (Object.keys(hints) as FactName[]).flatMap((name): InlayText[] => {
    const source = facts[name]?.source;
    if (source?.kind !== 'file' || source.place.file !== file) return [];
    const hint = hints[name]?.(facts, launcher.format, t) ?? null;
    return hint === null ? [] : [{ offset: source.place.range.end, text: hint }];
  });
  return found.sort((a, b) => a.offset - b.offset);
}
