#include <gtest/gtest.h>

#include "tests/datasets/images/image_sets.hpp"

namespace assay {
namespace test_folder_set {

void write_class(const Folder& folder, const std::string& name, const std::string& image, int i) {
  std::filesystem::create_directory(folder / name);
  folder.write(name + "/" + image, text_of(test_image(i)));
}

TEST(FolderSet, ASubfolderIsAClass) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Folder folder;
  write_class(folder, "dog", "b.JPEG", 0);
  write_class(folder, "dog", "a.jpg", 1);
  write_class(folder, "cat", "z.png", 2);
  write_class(folder, "cat", "notes.txt", 3);
  folder.write("readme", "no class");
  const auto set = open_samples(folder / "");
  ASSERT_EQ(set->size(), 3);
  EXPECT_EQ(set->classes(), 2);
  EXPECT_EQ(set->class_names(), (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(set->shards(), (std::vector<std::int64_t>{0}));
  Sample sample;
  const int image[] = {2, 1, 0}, label[] = {0, 1, 1};
  for (int i = 0; i < 3; ++i) {
    set->read(i, sample);
    EXPECT_EQ(sample.encoded, test_image(image[i]));
    EXPECT_EQ(sample.label, label[i]);
  }
  EXPECT_TRUE(set->where(1).ends_with("dog/a.jpg"));
  EXPECT_TRUE(set->canonical().starts_with("folder:n3c2:")) << set->canonical();
}

TEST(FolderSet, AFolderWithoutClassesIsRefused) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Folder folder;
  EXPECT_NE(message_of<InputError>([&] { open_samples(folder / ""); }).find("neither"),
            std::string::npos);
  EXPECT_NE(message_of<InputError>([&] { open_image_folder(folder / ""); }).find("no subfolder"),
            std::string::npos);
  EXPECT_NE(message_of<InputError>([&] { open_image_folder(folder / "none"); }).find("cannot read"),
            std::string::npos);
  std::filesystem::create_directory(folder / "empty");
  EXPECT_NE(message_of<InputError>([&] { open_samples(folder / ""); }).find("has no image"),
            std::string::npos);
}

TEST(FolderSet, LinksThatLeadNowhereAreRefusedByName) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Folder folder;
  write_class(folder, "cat", "a.jpg", 0);
  std::filesystem::create_symlink("nowhere", folder / "dog");
  EXPECT_NE(message_of<InputError>([&] { open_samples(folder / ""); }).find("/dog (No such"),
            std::string::npos);
  std::filesystem::remove(folder / "dog");
  std::filesystem::create_symlink("nowhere", folder / "cat/b.jpg");
  EXPECT_NE(message_of<InputError>([&] { open_samples(folder / ""); }).find("cat/b.jpg (No such"),
            std::string::npos);
}

TEST(FolderSet, AHiddenFolderIsNoClass) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Folder folder;
  write_class(folder, "cat", "a.jpg", 0);
  write_class(folder, ".ipynb_checkpoints", "a-checkpoint.jpg", 1);
  EXPECT_EQ(open_samples(folder / "")->class_names(), std::vector<std::string>{"cat"});
}

TEST(FolderSet, AFileThatIsEmptyIsABadSampleAndOneThatIsGoneAnError) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Folder folder;
  write_class(folder, "cat", "a.jpg", 0);
  write_class(folder, "cat", "b.jpg", 1);
  const auto set = open_samples(folder / "");
  folder.write("cat/a.jpg", "");
  std::filesystem::remove(folder / "cat/b.jpg");
  Sample sample;
  EXPECT_NE(message_of<BadSample>([&] { set->read(0, sample); }).find("cat/a.jpg: an empty file"),
            std::string::npos);
  EXPECT_NE(message_of<InputError>([&] { set->read(1, sample); }).find("cat/b.jpg"),
            std::string::npos);
}

}  // namespace test_folder_set
}  // namespace assay
