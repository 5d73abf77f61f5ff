// libosora_text.so: the only part of osora that links Tesseract. It is loaded by
// worker/clips/text_reader and uses nothing of the program that loads it.
#include "worker/clips/text_reader.hpp"

#include <tesseract/baseapi.h>
#include <tesseract/resultiterator.h>

#include <cctype>
#include <memory>
#include <string>
#include <string_view>

namespace osora::worker {
namespace {

constexpr float kConfidenceMin = 60;  // of 100
constexpr int kLettersMin = 2;        // in a word; single ones are mostly edges of things
constexpr int kResolutionDpi = 150;   // frames have none; it sets what counts as a line's height

/// Letters and digits; every letter outside ASCII counts by its first byte.
int letters_in(std::string_view word) {
    int letters = 0;
    for (char const each : word) {
        auto const code = static_cast<unsigned char>(each);
        if (code >= 0xC0 || (code < 0x80 && std::isalnum(code) != 0)) ++letters;
    }
    return letters;
}

class TesseractReader : public TextReader {
public:
    [[nodiscard]] Result<void> open() {
        api_.SetVariable("debug_file", "/dev/null");
        if (api_.Init(nullptr, "eng", tesseract::OEM_LSTM_ONLY) != 0) {
            return invalid(
                "score text: Tesseract has no English data; install tesseract-ocr-eng, or set "
                "TESSDATA_PREFIX to the folder of eng.traineddata");
        }
        api_.SetPageSegMode(tesseract::PSM_SPARSE_TEXT);
        return {};
    }

    [[nodiscard]] Result<std::vector<TextBox>> read(RgbPicture const& picture) override {
        constexpr int kBytesPerPixel = 3;
        api_.SetImage(picture.rgb.data(), picture.width, picture.height, kBytesPerPixel,
                      kBytesPerPixel * picture.width);
        api_.SetSourceResolution(kResolutionDpi);
        std::vector<TextBox> boxes;
        if (api_.Recognize(nullptr) != 0) {
            api_.Clear();
            return boxes;
        }
        std::unique_ptr<tesseract::ResultIterator> const found(api_.GetIterator());
        constexpr auto kWord = tesseract::RIL_WORD;
        bool more = found != nullptr && !found->Empty(kWord);
        for (; more; more = found->Next(kWord)) {
            std::unique_ptr<char[]> const text(found->GetUTF8Text(kWord));
            bool const sure = found->Confidence(kWord) >= kConfidenceMin;
            if (text == nullptr || !sure || letters_in(text.get()) < kLettersMin) continue;
            int left = 0, top = 0, right = 0, bottom = 0;
            if (!found->BoundingBox(kWord, &left, &top, &right, &bottom)) continue;
            boxes.push_back(
                {.left = left, .top = top, .width = right - left, .height = bottom - top});
        }
        api_.Clear();
        return boxes;
    }

private:
    tesseract::TessBaseAPI api_;
};

Result<std::unique_ptr<TextReader>> make_reader() {
    auto reader = std::make_unique<TesseractReader>();
    OSORA_TRY_VOID(reader->open());
    return std::unique_ptr<TextReader>(std::move(reader));
}

}  // namespace
}  // namespace osora::worker

extern "C" __attribute__((visibility("default"))) osora::worker::TextModule const*
osora_text_module() {
    static osora::worker::TextModule const module{.make = osora::worker::make_reader};
    return &module;
}
