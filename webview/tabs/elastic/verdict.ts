import { epochVerdict } from '../../../src/features/elastic/core/stage-bytes';
import { additions, type VariantId } from '../../../src/features/elastic/core/plan';
import { formatBytes, formatDuration, formatNumber, plural } from '../../../src/core/format';
import type { PageElastic } from '../../../src/protocol/page';
import { say } from '../../../src/core/sentence';
import { t } from '../../base/strings';
import type { VerdictText } from '../../shared/verdict';
import { epochCount } from './epochs';

/** Less than this is not a gain that the figures would show. */
const leastGain = 1.005;

/**
 * The verdict on a run that freezes layers: what to do where another start is better; then of the run as it is set whether it fits, what
 * freezing gains, how long it takes, and where the gain is from.
 */
export function elasticVerdict({ plan, spans, study }: PageElastic): VerdictText {
  const { speedup, totalMs, variants, request } = plan;
  const variantMs = (id: VariantId): number => variants.find((variant) => variant.id === id)?.totalMs ?? totalMs;
  const gains = speedup >= leastGain;
  const epochs = plural(epochCount({ spans }), t('epoch'), t('epochs'));
  const instead = t('{0} for {1} instead of {2}.', formatDuration(totalMs), epochs, formatDuration(variantMs('none')));
  const gain = gains ? t('{0} times as fast with frozen layers.', formatNumber(speedup)) : t('Freezing layers gains nothing.');
  const { asked, best, headline, gain: ofBest, freezing } = study.decision;
  const isOther = best.pipelineLength !== asked.pipelineLength;
  const decision = isOther ? [headline, ofBest, freezing].flatMap((each) => (each === null ? [] : [say(each, t)])) : [];
  const asSet = (text: string): string => (isOther ? t('As set: {0}', text) : text);
  const firstOver = spans.findIndex(({ epoch }) => !epoch.fits);
  const over = spans[firstOver]?.epoch;
  if (over !== undefined) {
    const { roomBytes, stage } = epochVerdict(over.stageBytes, request.cluster.gpu);
    const isToTheEnd = spans.slice(firstOver).every(({ epoch }) => !epoch.fits);
    const where = isToTheEnd
      ? t('Does not fit: {0} over on stage {1} from epoch {2} on.', formatBytes(-roomBytes), stage, over.epoch)
      : t('Does not fit: {0} over on stage {1} in epoch {2}.', formatBytes(-roomBytes), stage, over.epoch);
    return { sentences: [...decision, asSet(where), gain, instead], isOver: true, helps: [] };
  }
  const [most] = additions.map(([id, to]) => [id, variantMs(to) - variantMs(id)] as const).sort(([, a], [, b]) => b - a);
  const because = gains && most !== undefined && most[1] > 0 ? [t('Most of that comes from {0}.', mechanismName(most[0]))] : [];
  return { sentences: [...decision, asSet(gain), instead, ...because], isOver: false, helps: [] };
}

function mechanismName(id: (typeof additions)[number][0]): string {
  return {
    freezing: t('layers that are not trained any more'),
    pipe: t('shorter pipelines'),
    'pipe-dp': t('more replicas'),
    'pipe-cache': t('cached outputs of the frozen layers'),
  }[id];
}
