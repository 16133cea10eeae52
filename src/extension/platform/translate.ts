export type { Translate } from '../../core/sentence';
