export { english, type Translate } from '../../core/translate';
