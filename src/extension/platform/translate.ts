export type { Translate } from '../../core/translate';
