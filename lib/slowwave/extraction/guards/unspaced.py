"""The classes of words in Chinese and Japanese, which put no spaces between words: a word is found inside a run."""

import re

UNSPACED = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
_PARTS: dict[str, str] = {
    "say": "说 說 写道 写了 写 表示 回复 告诉 問 问 言 書い 述べ 聞い 教え",
    "text": "这句话 句话 句子 文章 邮件 文档 消息 评论 文本 留言 一段 手册 公告 文 メール コメント 看板 記事",
    "who": "同事 老板 客户 经理 他 她 朋友 同僚 上司 顧客 友人 彼 彼女 先生",
    "handle": "翻译 翻譯 总结 改写 润色 校对 解释 概括 訳し 翻訳 要約 書き直 校正 説明 添削",
    "judge": "意思 对吗 正确 是真的 礼貌 通顺 同意 正しい 意味 自然 丁寧 本当",
    "this": "这 那 這 この その これ それ",
    "ahead": "下面 以下 如下 次の",
    "me": "我 我们 私 僕 俺",
    "mine": "我的 我们的 私の",
    "work": "修复 添加 运行 测试 部署 提交 删除 实现 更新 修正 追加 実行 テスト コミット 削除 実装",
    "lead": "记住 注意 好的 谢谢 规则 不 对 覚え 注意 ありがとう ルール いいえ はい",
    "ask": "为什么 怎么 什么 吗 なぜ どう 何",
}


def classes_in(run: str) -> frozenset[str]:
    """Return the classes of all words in a run of letters without spaces."""
    return frozenset(role for role, parts in _PARTS.items() if any(part in run for part in parts.split()))
